#include "jit/xbyak/emitter.h"

#include <algorithm>
#include <limits>

#include "ir/check.h"

namespace pooljit::jit {

using ir::Inst;
using ir::Op;
using Xbyak::Reg64;

namespace {

constexpr int saved_registers[] = {3, 5, 12, 13, 14, 15};  // rbx rbp r12..r15
constexpr size_t loop_alignment = 16;
// Second opcode bytes of near conditional jumps; the short one is less by 0x10.
constexpr uint8_t if_not_zero = 0x85, if_less = 0x8c, if_not_greater = 0x8e;

size_t index(int i) { return static_cast<size_t>(i); }

}  // namespace

Emitter::Emitter(const ir::Program& program, const RegisterMap& map, Assembler& assembler)
    : program_(program), map_(map), a_(assembler), code_begin_(assembler.getSize()) {
  lines_.reserve(program.insts.size() + 2);
}

void Emitter::emit_kernel() {
  lines_.push_back({0, -1});
  prologue();
  std::span<const RegisterMap::ConstantUse> uses = map_.constant_uses();
  const std::vector<RegisterMap::Load>& loads = map_.loads();
  size_t next_load = 0;
  for (at_ = 0; at_ < static_cast<int>(program_.insts.size()); ++at_) {
    const Inst& inst = program_.insts[index(at_)];
    const size_t before = a_.getSize();
    for (; next_load < loads.size() && loads[next_load].before == at_; ++next_load)
      load_constant(loads[next_load].constant, loads[next_load].reg);
    size_t used = 0;
    for (; used < uses.size() && uses[used].inst == at_; ++used)
      if (uses[used].temporary) load_constant(uses[used].constant, uses[used].reg);
    constants_ = uses.first(used);
    uses = uses.subspan(used);
    emit(inst);
    if (a_.getSize() != before) lines_.push_back({static_cast<uint32_t>(before - code_begin_), at_});
  }
}

void Emitter::prologue() {
  a_.endbr64();
  if (map_.keeps_frame_pointer()) {
    a_.push(a_.rbp);
    frame_.push(a_.getSize() - code_begin_, frame_register);
    a_.mov(a_.rbp, a_.rsp);
  }
  for (int number : saved_registers) {
    if (!(map_.used_gprs() >> number & 1)) continue;
    a_.push(Reg64(number));
    frame_.push(a_.getSize() - code_begin_, number);
  }
  if (map_.stack_slots() > 0) move_stack(8 * map_.stack_slots());
}

void Emitter::epilogue() {
  if (map_.stack_slots() > 0) move_stack(-8 * map_.stack_slots());
  for (size_t i = std::size(saved_registers); i-- > 0;) {
    if (!(map_.used_gprs() >> saved_registers[i] & 1)) continue;
    a_.pop(Reg64(saved_registers[i]));
    frame_.adjust(a_.getSize() - code_begin_, -8);
  }
  if (map_.keeps_frame_pointer()) {
    a_.pop(a_.rbp);
    frame_.adjust(a_.getSize() - code_begin_, -8);
  }
  if (streams_) a_.sfence();
  a_.vzeroupper();
  a_.ret();
}

// Makes room on the stack, or gives it back.
void Emitter::move_stack(int64_t bytes) {
  if (bytes > 0)
    a_.sub(a_.rsp, static_cast<uint32_t>(bytes));
  else
    a_.add(a_.rsp, static_cast<uint32_t>(-bytes));
  frame_.adjust(a_.getSize() - code_begin_, bytes);
}

void Emitter::load_constant(int constant, int reg) {
  const Constant& value = map_.pool().at(constant);
  if (value.is_mask_bits || value.is_zero() || value.is_ones())
    load_constant_idiom(value, reg);
  else
    a_.write(x86::vmovaps, Vec::of(reg, value.size), constant_in_memory(constant, value.size));
}

void Emitter::emit(const Inst& inst) {
  switch (inst.op) {
    case Op::param:
      return param(inst);
    case Op::loop:
      return begin_loop(inst);
    case Op::end:
      return end_loop(inst);
    case Op::ret:
      return epilogue();
    case Op::iconst:
    case Op::vconst:
    case Op::vmask:
    case Op::bitcast:  // the same register
      return;
    case Op::iadd:
    case Op::imul:
    case Op::imin:
    case Op::imax:
      return index_op(inst);
    case Op::iload:
      return iload(inst);
    case Op::ptradd:
      return ptradd(inst);
    case Op::load:
      return load(inst);
    case Op::store:
      return store(inst);
    case Op::prefetch:
      return a_.prefetcht0(a_.address(address_of(inst.addr, 0)));
    case Op::splat:
      return splat(type(inst.results[0]), result(inst), read(place_of(0), Reg64(scratch_register)));
    case Op::shuffle:
      return shuffle(inst);
    case Op::cmp:
      return compare(inst);
    case Op::select:
      return map_.liveness().is_merged(at_) ? void() : select(inst);
    case Op::propagate:
      return propagate(inst);
    case Op::fma:
      return fma(inst);
    case Op::sqrt:
      return sqrt(inst);
    case Op::shl:
    case Op::shr:
      return shift(inst);
    case Op::cvt:
      return convert(inst);
    default:
      return type(inst.results[0]).kind == ir::Type::Kind::mask ? mask_logic(inst) : three_operand(inst);
  }
}

// ---------------------------------------------------------------------------------------------------- loops
void Emitter::begin_loop(const Inst& inst) {
  OpenLoop loop{at_, 0, 0};
  const Place trip = place_of(0), countdown = map_.countdown(at_);
  const bool known = trip.kind == Place::Kind::immediate;
  moves_.clear();
  if (countdown.kind != Place::Kind::none) moves_.push_back({countdown, trip, RegClass::gpr});
  for (size_t k = 1; k < inst.args.size(); ++k)
    moves_.push_back({map_.place(inst.results[k]), place_of(static_cast<int>(k)), class_of(inst.results[k])});
  move_all(moves_);
  if (!known) {
    const Place count = countdown.kind == Place::Kind::none ? trip : countdown;
    if (count.kind == Place::Kind::stack)
      a_.cmp(a_.address(slot(count)), 0);
    else
      a_.test(Reg64(count.number), Reg64(count.number));
    loop.skip = jump_forward(if_not_greater);
  } else if (immediate(trip) == 0) {
    a_.cmp(a_.rax, a_.rax);
    loop.skip = jump_forward(if_not_greater);
  }
  if (map_.liveness().is_used(inst.results[0])) move_gpr(map_.place(inst.results[0]), zero_place);
  if (map_.liveness().is_innermost(at_)) a_.align(loop_alignment);
  loop.body = a_.getSize();
  loops_.push_back(loop);
}

void Emitter::end_loop(const Inst& inst) {
  const OpenLoop loop = loops_.back();
  loops_.pop_back();
  const Inst& begin = program_.insts[index(loop.begin)];
  moves_.clear();
  for (size_t k = 0; k < inst.args.size(); ++k)
    moves_.push_back({map_.place(inst.results[k]), place_of(static_cast<int>(k)), class_of(inst.results[k])});
  move_all(moves_);
  const Place countdown = map_.countdown(loop.begin);
  if (countdown.kind == Place::Kind::stack) {
    a_.dec(a_.address(slot(countdown)));
    jump_back(if_not_zero, loop.body);
  } else if (countdown.kind == Place::Kind::reg) {
    a_.dec(Reg64(countdown.number));
    jump_back(if_not_zero, loop.body);
  } else if (map_.liveness().is_used(begin.results[0])) {
    count_up(map_.place(begin.results[0]), map_.place(begin.args[0]));
    jump_back(if_less, loop.body);
  }
  if (loop.skip != 0) land(loop.skip);
}

// counter += 1, compared with the trip count.
void Emitter::count_up(Place counter, Place trip) {
  const Reg64 value = read(counter, Reg64(scratch_register));
  a_.inc(value);
  commit(counter, value);
  if (trip.kind == Place::Kind::immediate && immediate(trip) <= std::numeric_limits<int32_t>::max())
    a_.cmp(value, static_cast<uint32_t>(immediate(trip)));
  else
    a_.cmp(value, read(trip, Reg64(second_scratch_register)));
}

size_t Emitter::jump_forward(uint8_t condition) {
  a_.db(0x0f);
  a_.db(condition);
  a_.dd(0);
  return a_.getSize() - 4;
}

void Emitter::land(size_t jump) { a_.rewrite(jump, a_.getSize() - (jump + 4), 4); }

void Emitter::jump_back(uint8_t condition, size_t target) {
  const auto distance = [&](size_t length) {
    return static_cast<int64_t>(target) - static_cast<int64_t>(a_.getSize() + length);
  };
  if (distance(2) >= std::numeric_limits<int8_t>::min()) {
    const auto near = static_cast<uint8_t>(distance(2));
    a_.db(condition - 0x10);
    a_.db(near);
  } else {
    const auto far = static_cast<uint32_t>(distance(6));
    a_.db(0x0f);
    a_.db(condition);
    a_.dd(far);
  }
}

// ------------------------------------------------------------------------------------------------- operands
Place Emitter::place_of(int arg) const {
  for (const RegisterMap::ConstantUse& use : constants_) {
    if (use.arg != arg) continue;
    if (use.reg >= 0) return {Place::Kind::reg, use.reg};
    return {Place::Kind::constant, use.constant};
  }
  if (arg == RegisterMap::implied) return {};
  return map_.place(program_.insts[index(at_)].args[index(arg)]);
}

Vec Emitter::result(const Inst& inst) const {
  return Vec::of(map_.place(inst.results[0]).number, type(inst.results[0]).vector_bytes());
}

Source Emitter::source(const Inst& inst, int arg) {
  const int bytes = type(inst.args[index(arg)]).vector_bytes();
  const Place place = place_of(arg);
  switch (place.kind) {
    case Place::Kind::reg:
      return Vec::of(place.number, bytes);
    case Place::Kind::folded:
      return address_of(program_.insts[index(place.number)].addr, bytes);
    default:
      return constant_in_memory(place.number, bytes);
  }
}

Vec Emitter::source_register(const Inst& inst, int arg) {
  const Place place = place_of(arg);
  POOLJIT_CHECK(place.kind == Place::Kind::reg, "an operand without a register");
  return Vec::of(place.number, type(inst.args[index(arg)]).vector_bytes());
}

Source Emitter::implied_source(int bytes) {
  const Place place = place_of(RegisterMap::implied);
  if (place.kind == Place::Kind::reg) return Vec::of(place.number, bytes);
  return constant_in_memory(place.number, bytes);
}

MemoryOperand Emitter::constant_in_memory(int constant, int bytes) {
  return {MemoryOperand::buffer, static_cast<uint8_t>(std::max(bytes, 16)),
          static_cast<int32_t>(map_.pool().offset(constant))};
}

MemoryOperand Emitter::address_of(const ir::Address& address, int bytes) {
  const Reg64 base = read(map_.place(address.base), Reg64(scratch_register));
  return {static_cast<int8_t>(base.getIdx()), static_cast<uint8_t>(bytes),
          static_cast<int32_t>(address.offset)};
}

}  // namespace pooljit::jit
