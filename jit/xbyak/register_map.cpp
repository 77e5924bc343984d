#include "jit/xbyak/register_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/check.h"
#include "jit/xbyak/constant_placer.h"

namespace pooljit::jit {

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

int registers_of(const Program& program, RegClass cls) {
  return cls == RegClass::vec ? ir::info(program.isa).vector_registers : mask_registers;
}
uint32_t not_free(RegClass cls) { return cls == RegClass::mask ? not_free_masks : 0; }

}  // namespace

ir::Result<RegisterMap> RegisterMap::make(const Program& program, FramePointer frame) {
  RegisterMap map(program, frame);
  map.web_places_.resize(map.live_.webs().size());
  ConstantPlacer constants(map);
  if (auto done = map.place_vectors(RegClass::vec, constants); !done) return tl::unexpected(done.error());
  if (masks_are_bits(program))
    if (auto done = map.place_vectors(RegClass::mask, constants); !done) return tl::unexpected(done.error());
  constants.finish();
  const bool all_fit = !map.needs_stack() && map.place_gprs(/*with_stack=*/false);
  if (!all_fit) map.place_gprs(/*with_stack=*/true);
  map.place_values();
  return map;
}

int RegisterMap::needed(const Program& program, RegClass cls) {
  RegisterMap map(program, FramePointer::free);
  map.web_places_.resize(map.live_.webs().size());
  return map.take_registers(cls, ConstantPlacer(map));
}

// Webs are made in the order of their first values, so they are nearly sorted.
std::vector<size_t> RegisterMap::webs_by_begin(RegClass cls) const {
  const std::vector<Web>& webs = live_.webs();
  std::vector<size_t> order;
  order.reserve(webs.size());
  for (size_t web = 0; web < webs.size(); ++web) {
    if (webs[web].cls != cls) continue;
    order.push_back(web);
    for (size_t i = order.size() - 1; i > 0 && webs[order[i]].range.begin < webs[order[i - 1]].range.begin;
         --i)
      std::swap(order[i], order[i - 1]);
  }
  return order;
}

// First fit in the order of the beginnings: webs and the temporary registers of constants are intervals, so
// this needs no more registers than there are intervals over one point. Returns how many.
int RegisterMap::take_registers(RegClass cls, const ConstantPlacer& constants) {
  const int registers = registers_of(program_, cls);
  const uint32_t others = not_free(cls);
  const std::vector<size_t> webs = webs_by_begin(cls), temporaries = constants.temporaries(cls);
  BusyRegisters& busy = this->busy(cls);
  busy.reset(live_.points(), registers);
  std::vector<int> free_after;  // by register, as many as it takes
  free_after.reserve(32);
  for (int reg = 0; reg < 32 && (others >> reg) != 0; ++reg)
    free_after.push_back(others >> reg & 1 ? std::numeric_limits<int>::max() : -1);
  const auto take = [&](const Range& range) {
    const auto found =
        std::find_if(free_after.begin(), free_after.end(), [&](int after) { return after < range.begin; });
    const int reg = static_cast<int>(found - free_after.begin());
    if (found == free_after.end())
      free_after.push_back(range.end);
    else
      *found = range.end;
    if (reg < registers) busy.take(range, reg);  // others are counted, for the message
    return reg;
  };
  auto next = temporaries.begin();
  const auto take_temporaries = [&](int before) {
    for (; next != temporaries.end() && 2 * constant_uses_[*next].inst < before; ++next) {
      const int inst = constant_uses_[*next].inst;
      constant_uses_[*next].reg = take({2 * inst, 2 * inst + 1});
    }
  };
  for (const size_t web : webs) {
    const Range& range = live_.webs()[web].range;
    take_temporaries(range.begin);
    web_places_[web] = {Place::Kind::reg, take(range)};
  }
  take_temporaries(live_.points());
  return static_cast<int>(free_after.size());
}

ir::Result<void> RegisterMap::place_vectors(RegClass cls, ConstantPlacer& constants) {
  const int registers = registers_of(program_, cls), needed = take_registers(cls, constants);
  if (needed > registers)
    return ir::unsupported(
        "schedule.registers",
        fmt::format("the schedule needs {} {} registers at once, {} has {}", needed,
                    cls == RegClass::vec ? "vector" : "mask", ir::info(program_.isa).text, registers),
        "use fewer lanes, or fewer vectors, rows or windows together");
  for (int reg = 0; reg < registers; ++reg)
    if (not_free(cls) >> reg & 1) busy(cls).take({0, live_.points() - 1}, reg);
  constants.place(cls, registers);
  return {};
}

// Where more values live at once than there are registers, no order of placing them helps; and a constant
// too long for an operand takes the second scratch register, which the stack brings.
bool RegisterMap::needs_stack() const {
  if (live_.has_long_index()) return true;
  std::vector<int> change(at(live_.points()) + 1, 0);  // of how many live, by point
  const auto lives = [&](const Range& range) {
    ++change[at(range.begin)];
    --change[at(range.end + 1)];
  };
  for (const Web& web : live_.webs())
    if (web.cls == RegClass::gpr) lives(web.range);
  if (live_.last_param() >= 0) lives({0, 2 * live_.last_param()});  // the argument register
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
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return weight(a) > weight(b) || (weight(a) == weight(b) && a < b); });

  if (live_.last_param() >= 0) busy.take({0, 2 * live_.last_param()}, argument_register);
  if (keeps_frame_pointer()) busy.take({0, live_.points() - 1}, frame_register);
  stack_slots_ = 0;
  used_gprs_ = 0;
  for (int web : order) {
    const Range& range = live_.webs()[at(web)].range;
    const auto found = std::find_if(std::begin(gpr_order), std::end(gpr_order), [&](int reg) {
      return busy.is_free(range, reg) && !(with_stack && reg == second_scratch_register);
    });
    if (found != std::end(gpr_order)) {
      web_places_[at(web)] = {Place::Kind::reg, *found};
      busy.take(range, *found);
      used_gprs_ |= 1u << *found;
    } else if (with_stack) {
      web_places_[at(web)] = {Place::Kind::stack, stack_slots_++};
    } else {
      return false;
    }
  }
  return true;
}

void RegisterMap::place_values() {
  places_.resize(program_.types.size());
  for (Value value = 0; value < static_cast<Value>(places_.size()); ++value) {
    Place& place = places_[at(value)];
    const Value root = live_.root(value);
    if (root == ir::no_value) continue;  // a gap in the names
    if (live_.is_folded(value))
      place = {Place::Kind::folded, live_.definition(value)};
    else if (const int web = live_.web(value); web >= 0)
      place = web_places_[at(web)];
    else if (constant_of_[at(root)] >= 0)
      place = {Place::Kind::constant, constant_of_[at(root)]};
    else if (live_.is_constant(value))
      place = {Place::Kind::immediate, live_.definition(root)};
  }
}

Place RegisterMap::countdown(int begin) const {
  const int web = live_.countdown_web(begin);
  return web < 0 ? Place{} : web_places_[at(web)];
}

}  // namespace pooljit::jit
