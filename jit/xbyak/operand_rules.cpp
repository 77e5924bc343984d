#include "jit/xbyak/operand_rules.h"

#include "ir/passes/shuffle_forms.h"
#include "ir/passes/shuffle_units.h"

namespace pooljit::jit {

using ir::Inst;
using ir::Move;
using ir::Op;
using ir::Program;
using ir::ShuffleForm;
using ir::Type;

namespace {

bool masks_are_bits(const Program& program) { return ir::info(program.isa).mask == ir::MaskEncoding::k_bits; }

const Type& arg_type(const Program& program, const Inst& inst, size_t arg) {
  return program.type(inst.args[arg]);
}

bool is_vector(const Program& program, const Type& type) {
  return type.kind == Type::Kind::vec || (type.kind == Type::Kind::mask && !masks_are_bits(program));
}

ShuffleForm form_of(const Program& program, const Inst& inst) {
  return *ir::shuffle_form(program.isa, arg_type(program, inst, 0), inst.args.size() == 2, inst.data);
}

bool second_source_may_be_memory(const Program& program, const Inst& inst) {
  const Type& source = arg_type(program, inst, 0);
  const ShuffleForm form = form_of(program, inst);
  switch (form.move) {
    case Move::insert:
      return source.vector_bytes() == form.width;
    case Move::unpack_low:
    case Move::unpack_high:
    case Move::shuffle_two:
    case Move::lanes:
    case Move::blend:
    case Move::permute_two:
      return source.vector_bytes() == ir::widest_units(source, inst.data).register_bytes();
    default:
      return false;
  }
}

}  // namespace

bool takes_memory(const Program& program, const Inst& inst, size_t arg) {
  switch (inst.op) {
    case Op::and_:
    case Op::or_:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::min:
    case Op::max:
    case Op::cmp:
      return arg == 1 && is_vector(program, arg_type(program, inst, 0));
    case Op::select:
      return arg == 1;
    case Op::sqrt:
      return arg == 0;
    case Op::cvt: {
      const int from = arg_type(program, inst, 0).vector_bytes();
      const int to = program.type(inst.results[0]).vector_bytes();
      // What narrows integers, or floats to f16, has its memory operand on the other side.
      const ir::DType result = program.type(inst.results[0]).dtype;
      const bool only_from_register =
          to < from &&
          (ir::is_half(result) || (!ir::is_float(result) && !ir::is_float(arg_type(program, inst, 0).dtype)));
      return !only_from_register && std::max(from, to) >= ir::lane_bytes;
    }
    case Op::shuffle:
      return arg == 1 && second_source_may_be_memory(program, inst);
    default:
      return false;
  }
}

bool has_masked_form(Op op) {
  return op == Op::add || op == Op::sub || op == Op::mul || op == Op::div || op == Op::min || op == Op::max;
}

bool commutes(const Program& program, const Inst& inst) {
  switch (inst.op) {
    case Op::and_:
    case Op::or_:
    case Op::add:
    case Op::mul:
      return true;
    case Op::min:
    case Op::max:
      return !ir::is_float(program.type(inst.results[0]).dtype);
    default:
      return false;
  }
}

Take take_constant(const Program& program, const Inst& inst, size_t arg) {
  const bool bits = masks_are_bits(program);
  switch (inst.op) {
    case Op::loop:
    case Op::end:
      return Take::immediate;
    case Op::load:
      return arg == 1 || !bits ? Take::result : Take::temporary;
    case Op::select:
      if (arg == 0 && !bits)
        return ir::bytes(arg_type(program, inst, 0).dtype) >= 4 ? Take::immediate : Take::result;
      break;
    default:
      break;
  }
  return takes_memory(program, inst, arg) ? Take::memory : Take::temporary;
}

Take take_implied_constant(const Program& program, const Inst& inst) {
  switch (form_of(program, inst).move) {
    case Move::bytes_in_lane:
      return Take::memory;
    case Move::blend:
      return masks_are_bits(program) ? Take::temporary : Take::result;
    default:
      return Take::result;
  }
}

bool result_stands_apart(const Program& program, const Inst& inst) {
  if (inst.op == Op::select)
    return !masks_are_bits(program) && ir::bytes(arg_type(program, inst, 0).dtype) < 4;
  if (inst.op != Op::shuffle) return false;
  const ShuffleForm form = form_of(program, inst);
  return form.move == Move::permute || form.move == Move::permute_two ||
         (form.move == Move::blend && form.width < 4 && !masks_are_bits(program));
}

bool is_alias(const Program& program, const Inst& inst) {
  if (inst.op == Op::bitcast) return true;
  return inst.op == Op::shuffle && form_of(program, inst).move == Move::low;
}

}  // namespace pooljit::jit
