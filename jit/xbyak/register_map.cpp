#include "jit/xbyak/register_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "ir/check.h"
#include "jit/xbyak/constant_placer.h"

namespace pooljit::jit {

using ir::Inst;
using ir::Op;
using ir::Program;
using ir::Value;

namespace {

// Registers that a callee may destroy come first; rax and rsp are not here.
constexpr int gpr_order[] = {1, 6, 8,  9,  10, 11, argument_register, second_scratch_register,
                             3, 5, 12, 13, 14, 15};
constexpr int gpr_count = 16;
constexpr int mask_registers = 8;  // k0 is one that cannot mask: it is never free
constexpr uint32_t not_free_masks = 1;

size_t at(int i) { return static_cast<size_t>(i); }

}  // namespace

ir::Result<RegisterMap> RegisterMap::make(const Program& program, FramePointer frame) {
  RegisterMap map(program, frame);
  map.places_.resize(map.live_.webs().size());
  ConstantPlacer constants(map);
  const ir::IsaInfo& isa = ir::info(program.isa);
  if (auto done = map.place_vectors(RegClass::vec, isa.vector_registers, 0, constants); !done)
    return tl::unexpected(done.error());
  if (isa.mask == ir::MaskEncoding::k_bits)
    if (auto done = map.place_vectors(RegClass::mask, mask_registers, not_free_masks, constants); !done)
      return tl::unexpected(done.error());
  constants.finish();
  const bool all_fit = !map.needs_stack() && map.place_gprs(/*with_stack=*/false);
  if (!all_fit) map.place_gprs(/*with_stack=*/true);
  return map;
}

// First fit in the order of the beginnings: webs and the temporary registers of constants are intervals, so
// this needs no more registers than there are intervals over one point.
ir::Result<void> RegisterMap::place_vectors(RegClass cls, int registers, uint32_t not_free,
                                            ConstantPlacer& constants) {
  struct Interval {
    Range range;
    Place* web;  // or
    ConstantUse* constant;
  };
  std::vector<Interval> intervals;
  intervals.reserve(live_.webs().size() + constant_uses_.size());
  for (size_t web = 0; web < live_.webs().size(); ++web)
    if (live_.webs()[web].cls == cls) intervals.push_back({live_.webs()[web].range, &places_[web], nullptr});
  for (size_t use : constants.temporaries(cls)) {
    const int inst = constant_uses_[use].inst;
    intervals.push_back({{2 * inst, 2 * inst + 1}, nullptr, &constant_uses_[use]});
  }
  std::stable_sort(intervals.begin(), intervals.end(),
                   [](const Interval& a, const Interval& b) { return a.range.begin < b.range.begin; });
  BusyRegisters& busy = this->busy(cls);
  busy.reset(live_.points(), registers);
  std::vector<int> free_after;  // by register, as many as it takes
  free_after.reserve(32);
  for (int reg = 0; reg < 32 && (not_free >> reg) != 0; ++reg)
    free_after.push_back(not_free >> reg & 1 ? std::numeric_limits<int>::max() : -1);
  for (const Interval& here : intervals) {
    const auto found = std::find_if(free_after.begin(), free_after.end(),
                                    [&](int after) { return after < here.range.begin; });
    const int reg = static_cast<int>(found - free_after.begin());
    if (found == free_after.end()) free_after.push_back(here.range.end);
    free_after[at(reg)] = here.range.end;
    if (reg >= registers) continue;  // counted, for the message
    if (here.web) *here.web = {Place::Kind::reg, reg};
    if (here.constant) here.constant->reg = reg;
    busy.take(here.range, reg);
  }
  const int needed = static_cast<int>(free_after.size());
  if (needed > registers)
    return ir::unsupported(
        "schedule.registers",
        fmt::format("the schedule needs {} {} registers at once, {} has {}", needed,
                    cls == RegClass::vec ? "vector" : "mask", ir::info(program_.isa).text, registers),
        "use fewer lanes, or fewer vectors, rows or windows together");
  for (int reg = 0; reg < registers; ++reg)
    if (not_free >> reg & 1) busy.take({0, live_.points() - 1}, reg);
  constants.place(cls, registers);
  return {};
}

// Where more values live at once than there are registers, no order of placing them helps; and a constant
// too long for an operand takes the second scratch register, which the stack brings.
bool RegisterMap::needs_stack() const {
  std::vector<int> change(at(live_.points()) + 1, 0);  // of how many live, by point
  const auto lives = [&](const Range& range) {
    ++change[at(range.begin)];
    --change[at(range.end + 1)];
  };
  for (const Web& web : live_.webs())
    if (web.cls == RegClass::gpr) lives(web.range);
  int last_param = -1;
  for (int i = 0; i < static_cast<int>(program_.insts.size()); ++i) {
    const Inst& inst = program_.insts[at(i)];
    if (inst.op == Op::param) last_param = i;
    if (inst.op == Op::iconst && !fits_immediate(inst.imm)) return true;
  }
  if (last_param >= 0) lives({0, 2 * last_param});  // the argument register
  int alive = 0, most = 0;
  for (const int one : change) most = std::max(most, alive += one);
  return most > std::ssize(gpr_order) - (keeps_frame_pointer() ? 1 : 0);
}

// The most used first; what finds no register lies on the stack.
bool RegisterMap::place_gprs(bool with_stack) {
  BusyRegisters& busy = this->busy(RegClass::gpr);
  busy.reset(live_.points(), gpr_count);
  std::vector<int> order;
  order.reserve(live_.webs().size());
  for (int web = 0; web < static_cast<int>(live_.webs().size()); ++web)
    if (live_.webs()[at(web)].cls == RegClass::gpr) order.push_back(web);
  const auto weight = [&](int web) { return live_.webs()[at(web)].weight; };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return weight(a) > weight(b); });

  for (int i = 0; i < static_cast<int>(program_.insts.size()); ++i) {
    if (program_.insts[at(i)].op == Op::param) busy.take({0, 2 * i}, argument_register);
  }
  if (keeps_frame_pointer()) busy.take({0, live_.points() - 1}, frame_register);
  stack_slots_ = 0;
  used_gprs_ = 0;
  for (int web : order) {
    const Range& range = live_.webs()[at(web)].range;
    const auto found = std::find_if(std::begin(gpr_order), std::end(gpr_order), [&](int reg) {
      return busy.is_free(range, reg) && !(with_stack && reg == second_scratch_register);
    });
    if (found != std::end(gpr_order)) {
      places_[at(web)] = {Place::Kind::reg, *found};
      busy.take(range, *found);
      used_gprs_ |= 1u << *found;
    } else if (with_stack) {
      places_[at(web)] = {Place::Kind::stack, stack_slots_++};
    } else {
      return false;
    }
  }
  return true;
}

// ------------------------------------------------------------------------------------------------- queries
Place RegisterMap::place(Value value) const {
  if (live_.is_folded(value)) return {Place::Kind::folded, live_.definition(value)};
  if (const int web = live_.web(value); web >= 0) return places_[at(web)];
  const Value root = live_.root(value);
  const Inst& inst = live_.defining(root);
  if (inst.op == Op::iconst) return {Place::Kind::immediate, live_.definition(root)};
  if (live_.is_constant(root)) return {Place::Kind::constant, constant_of_[at(root)]};
  return {};
}

std::span<const RegisterMap::ConstantUse> RegisterMap::constant_uses(int inst) const {
  const size_t first = first_use_[at(inst)], behind = first_use_[at(inst + 1)];
  return {constant_uses_.data() + first, behind - first};
}

Place RegisterMap::operand(int inst, int arg) const {
  for (const ConstantUse& use : constant_uses(inst)) {
    if (use.arg != arg) continue;
    if (use.reg >= 0) return {Place::Kind::reg, use.reg};
    return {Place::Kind::constant, use.constant};
  }
  if (arg == implied) return {};
  return place(program_.insts[at(inst)].args[at(arg)]);
}

Place RegisterMap::countdown(int begin) const {
  const int web = live_.countdown_web(begin);
  return web < 0 ? Place{} : places_[at(web)];
}

}  // namespace pooljit::jit
