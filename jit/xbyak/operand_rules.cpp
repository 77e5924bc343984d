#include "jit/xbyak/operand_rules.h"

#include <algorithm>

#include "ir/check.h"
#include "ir/passes/shuffle_units.h"
#include "jit/xbyak/constants.h"

namespace pooljit::jit {

using ir::Inst;
using ir::Move;
using ir::Op;
using ir::Program;
using ir::ShuffleForm;
using ir::Type;

OperandRules::OperandRules(const Program& program)
    : program_(program), masks_are_bits_(jit::masks_are_bits(program)), forms_(program.types.size()) {}

void OperandRules::find_form(const Inst& shuffle) {
  const auto form =
      ir::shuffle_form(program_.isa, arg_type(shuffle, 0), shuffle.args.size() == 2, shuffle.data);
  POOLJIT_CHECK(form, "a shuffle that is not legal");
  forms_[static_cast<size_t>(shuffle.results[0])] = *form;
}

int OperandRules::register_bytes(const Inst& shuffle) const {
  return std::max({ir::lane_bytes, arg_type(shuffle, 0).vector_bytes(),
                   program_.type(shuffle.results[0]).vector_bytes()});
}

bool OperandRules::is_vector(const Type& type) const {
  return type.kind == Type::Kind::vec || (type.kind == Type::Kind::mask && !masks_are_bits_);
}

bool OperandRules::second_source_may_be_memory(const Inst& shuffle) const {
  const Type& source = arg_type(shuffle, 0);
  const ShuffleForm& found = form(shuffle);
  switch (found.move) {
    case Move::insert:
      return source.vector_bytes() == found.width;
    case Move::unpack_low:
    case Move::unpack_high:
    case Move::shuffle_two:
    case Move::lanes:
    case Move::blend:
    case Move::permute_two:
      return source.vector_bytes() == register_bytes(shuffle);
    default:
      return false;
  }
}

bool OperandRules::takes_memory(const Inst& inst, size_t arg) const {
  switch (inst.op) {
    case Op::and_:
    case Op::or_:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::mulh:
    case Op::mull:
    case Op::div:
    case Op::min:
    case Op::max:
    case Op::cmp:
      return arg == 1 && is_vector(arg_type(inst, 0));
    case Op::select:
      return arg == 1;
    case Op::sqrt:
      return arg == 0;
    case Op::cvt: {
      const int from = arg_type(inst, 0).vector_bytes();
      const int to = program_.type(inst.results[0]).vector_bytes();
      // Conversions that narrow integers, or floats to f16, take memory as the destination only.
      const ir::DType result = program_.type(inst.results[0]).dtype;
      const bool only_from_register =
          to < from &&
          (ir::is_half(result) || (!ir::is_float(result) && !ir::is_float(arg_type(inst, 0).dtype)));
      return !only_from_register && std::max(from, to) >= ir::lane_bytes;
    }
    case Op::shuffle:
      return arg == 1 && second_source_may_be_memory(inst);
    default:
      return false;
  }
}

bool has_masked_form(Op op) {
  return op == Op::add || op == Op::sub || op == Op::mul || op == Op::div || op == Op::min || op == Op::max;
}

bool OperandRules::commutes(const Inst& inst) const {
  switch (inst.op) {
    case Op::and_:
    case Op::or_:
    case Op::add:
    case Op::mul:
    case Op::mulh:
    case Op::mull:
      return true;
    case Op::min:
    case Op::max:
      return !ir::is_float(program_.type(inst.results[0]).dtype);
    default:
      return false;
  }
}

Take OperandRules::take_constant(const Inst& inst, size_t arg) const {
  switch (inst.op) {
    case Op::loop:
    case Op::end:
      return Take::immediate;
    case Op::load:
      return arg == 1 || !masks_are_bits_ ? Take::result : Take::temporary;
    case Op::select:
      if (arg == 0 && !masks_are_bits_)
        return ir::bytes(arg_type(inst, 0).dtype) >= 4 ? Take::immediate : Take::result;
      break;
    default:
      break;
  }
  return takes_memory(inst, arg) ? Take::memory : Take::temporary;
}

Take OperandRules::take_implied_constant(const Inst& inst) const {
  if (inst.op == Op::propagate) return Take::memory;
  switch (form(inst).move) {
    case Move::bytes_in_lane:
      return Take::memory;
    case Move::blend:
      return masks_are_bits_ ? Take::temporary : Take::result;
    default:
      return Take::result;
  }
}

bool OperandRules::result_stands_apart(const Inst& inst) const {
  if (inst.op == Op::select) return !masks_are_bits_ && ir::bytes(arg_type(inst, 0).dtype) < 4;
  if (inst.op != Op::shuffle) return false;
  const ShuffleForm& shuffled = form(inst);
  return shuffled.move == Move::permute || shuffled.move == Move::permute_two ||
         (shuffled.move == Move::blend && shuffled.width < 4 && !masks_are_bits_);
}

bool OperandRules::is_alias(const Inst& inst) const {
  if (inst.op == Op::bitcast) return true;
  return inst.op == Op::shuffle && form(inst).move == Move::low;
}

}  // namespace pooljit::jit
