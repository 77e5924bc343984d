// Pointers and indices: 64-bit registers, or stack slots through rax and rdx.
#include <utility>

#include "jit/xbyak/emitter.h"

namespace pooljit::jit {

using ir::Inst;
using ir::Op;
using Xbyak::Reg64;

namespace {

const Reg64 scratch(scratch_register), second_scratch(second_scratch_register);
constexpr int8_t stack_register = 4;

MemoryOperand behind(const Reg64& base, int64_t offset) {
  return {static_cast<int8_t>(base.getIdx()), 8, static_cast<int32_t>(offset)};
}

}  // namespace

MemoryOperand Emitter::slot(Place place) { return {stack_register, 8, 8 * place.number}; }

int64_t Emitter::immediate(Place place) const {
  return place.number < 0 ? 0 : program_.insts[static_cast<size_t>(place.number)].imm;
}

// The value in a register: its own, or the scratch one.
Reg64 Emitter::read(Place place, const Reg64& scratch_reg) {
  switch (place.kind) {
    case Place::Kind::reg:
      return Reg64(place.number);
    case Place::Kind::stack:
      a_.load_word(scratch_reg.getIdx(), slot(place));
      return scratch_reg;
    default:
      a_.mov(scratch_reg, immediate(place));
      return scratch_reg;
  }
}

// Where to compute a value that belongs to `place`; commit() brings it there.
Reg64 Emitter::target(Place place) const {
  return place.kind == Place::Kind::reg ? Reg64(place.number) : scratch;
}

void Emitter::commit(Place place, const Reg64& value) {
  if (place.kind == Place::Kind::stack)
    a_.store_word(slot(place), value.getIdx());
  else if (place.number != value.getIdx())
    a_.copy_word(place.number, value.getIdx());
}

void Emitter::param(const Inst& inst) {
  const Place place = map_.place(inst.results[0]);
  const Reg64 to = target(place);
  a_.load_word(to.getIdx(), {argument_register, 8, 8 * static_cast<int32_t>(inst.imm)});
  commit(place, to);
}

// All index ops commute. An immediate operand is the second one; two are only met in Programs that nobody
// folded.
void Emitter::index_op(const Inst& inst) {
  Place first = place_of(0), second = place_of(1);
  if (first.kind == Place::Kind::immediate) std::swap(first, second);
  const Place place = map_.place(inst.results[0]);
  const Reg64 to = target(place);
  const Reg64 a = read(first, first.kind == Place::Kind::immediate ? to : scratch);
  const bool short_immediate = second.kind == Place::Kind::immediate && fits_immediate(immediate(second));
  if (short_immediate && inst.op == Op::iadd) {
    a_.load_address(to.getIdx(), behind(a, immediate(second)));
  } else if (short_immediate && inst.op == Op::imul) {
    a_.imul(to, a, static_cast<int>(immediate(second)));
  } else {
    const bool scratch_taken = a.getIdx() == scratch_register || to.getIdx() == scratch_register;
    const Reg64 b = read(second, scratch_taken ? second_scratch : scratch);
    if (inst.op == Op::iadd) {
      a_.lea(to, a_.ptr[a + b]);
    } else {
      if (to.getIdx() == b.getIdx())
        two_operand(inst.op, to, a);
      else {
        if (to.getIdx() != a.getIdx()) a_.copy_word(to.getIdx(), a.getIdx());
        two_operand(inst.op, to, b);
      }
    }
  }
  commit(place, to);
}

void Emitter::two_operand(Op op, const Reg64& to, const Reg64& other) {
  if (op == Op::imul) {
    a_.imul(to, other);
    return;
  }
  a_.cmp(to, other);
  if (op == Op::imin)
    a_.cmovg(to, other);
  else
    a_.cmovl(to, other);
}

void Emitter::iload(const Inst& inst) {
  const Place place = map_.place(inst.results[0]);
  const Reg64 to = target(place);
  const Reg64 base = read(map_.place(inst.addr.base), scratch);
  a_.load_word(to.getIdx(), behind(base, inst.addr.offset));
  commit(place, to);
}

void Emitter::ptradd(const Inst& inst) {
  const Place place = map_.place(inst.results[0]);
  const Place base_place = map_.place(inst.addr.base);
  int64_t offset = inst.addr.offset;
  Place index;
  if (!inst.args.empty()) index = place_of(0);
  if (index.kind == Place::Kind::immediate && fits_immediate(offset + immediate(index))) {
    offset += immediate(index);
    index = Place{};
  }
  const auto bytes = static_cast<int>(offset);
  const bool moves_itself =
      index.kind == Place::Kind::none && place.kind == base_place.kind && place.number == base_place.number;
  if (moves_itself && place.kind == Place::Kind::stack) {
    a_.add(a_.address(slot(place)), bytes);
    return;
  }
  const Reg64 to = target(place);
  if (moves_itself) {
    a_.add_to_word(to.getIdx(), bytes);
    return;
  }
  const Reg64 base = read(base_place, scratch);
  if (index.kind == Place::Kind::none)
    a_.load_address(to.getIdx(), behind(base, bytes));
  else
    a_.lea(to,
           a_.ptr[base + read(index, base.getIdx() == scratch_register ? second_scratch : scratch) + bytes]);
  commit(place, to);
}

}  // namespace pooljit::jit
