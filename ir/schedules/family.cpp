#include "ir/schedules/family.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "ir/reductions/epilogue.h"
#include "ir/schedule_fields.h"
#include "ir/schedule_text.h"

namespace pooljit::ir {
namespace {

const FamilyInfo* const families[] = {
#define FAMILY(name, ...) &name##_family,
#include "ir/schedules.def"
#undef FAMILY
};

// The layers that a family has code for all sizes for: none, forward passes, or all that it has code for at
// one size.
enum class AnySize : uint8_t { none, forward, all };
constexpr AnySize any_sizes[] = {
#define FAMILY(name, text, any_size, note) AnySize::any_size,
#include "ir/schedules.def"
#undef FAMILY
};

// Refuses code for all sizes of a layer that the family has none for.
Result<void> check_any_size(const PoolNest& nest, const Schedule& schedule) {
  const AnySize has = any_sizes[static_cast<size_t>(schedule.family())];
  if (has == AnySize::all) return {};
  const bool is_forward = !nest.is_backward();
  if (has == AnySize::forward && is_forward) return {};
  std::vector<std::string_view> others;
  for (const Family family : all_families)
    if (const AnySize other = any_sizes[static_cast<size_t>(family)];
        other == AnySize::all || (other == AnySize::forward && is_forward))
      others.push_back(text_of(family));
  return unsupported("schedule.sizes",
                     has == AnySize::none ? "the family is for one size"
                                          : "the family's code for all sizes is for forward passes",
                     fmt::format("use {}", fmt::join(others, " or ")));
}

}  // namespace

const FamilyInfo& info(Family family) { return *families[static_cast<size_t>(family)]; }

// The numbers of a family count what is taken together.
Result<void> check_numbers(const Schedule& schedule) {
  constexpr int most = 16;
  for (const ScheduleField& field : fields(schedule.family())) {
    if (!field.is_number()) continue;
    const int value = field.get(schedule);
    if (value < 1 || value > most)
      return invalid("schedule.together", fmt::format("{}={} is not in 1 .. {}", field.name, value, most));
    if (value > 1 && !field.applies(schedule))
      return unsupported("schedule.together",
                         fmt::format("{}={} does not go with {}", field.name, value, print(schedule)),
                         "use another scan");
  }
  return {};
}

Result<void> check_common(const Layer& layer, const Schedule& schedule) {
  const LaneUse use = info(schedule.family()).lanes;
  const int most = layer.most_lanes(use);
  if (schedule.lanes < 1 || !std::has_single_bit(static_cast<unsigned>(schedule.lanes)) ||
      schedule.lanes > most)
    return invalid(
        "schedule.lanes",
        fmt::format("lanes={} is not a power of two from 1 to {} ({} lanes of {} bytes fill a vector of {})",
                    schedule.lanes, most, most, layer.lane_bytes(use), info(layer.isa()).text));
  if (auto checked = check_numbers(schedule); !checked) return checked;
  if (schedule.tail == Tail::mask && !layer.can_mask())
    return unsupported("schedule.tail",
                       fmt::format("{} cannot mask loads and stores of {}", info(layer.isa()).text,
                                   info(layer.nest().input.dtype).spec_name),
                       "use tail=split or tail=overlap");
  if (layer.nest().has_any_size())
    if (auto checked = check_any_size(layer.nest(), schedule); !checked) return checked;
  if (layer.nest().has_any_size() && schedule.stores == Stores::streamed)
    return unsupported("schedule.stores", "code for all sizes does not store past the caches",
                       "use stores=cached");
  return {};
}

Result<void> check(const Layer& layer, const Schedule& schedule) {
  if (auto common = check_common(layer, schedule); !common) return common;
  return info(schedule.family()).check(layer, schedule);
}

bool has_registers(const Layer& layer, const Schedule& schedule) {
  const auto registers = info(schedule.family()).registers;
  return registers == nullptr || registers(layer, schedule) <= layer.registers();
}

int extra_registers(const PoolNest& nest, const ReductionFacts& facts) {
  return std::max(facts.extra_registers, epilogue_registers(nest));
}

}  // namespace pooljit::ir
