#include "ir/schedules/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ir/reductions/epilogue.h"
#include "ir/schedule_text.h"

namespace pooljit::ir {
namespace {

const FamilyInfo* const families[] = {
#define FAMILY(name, text, note) &name##_family,
#include "ir/schedules.def"
#undef FAMILY
};

}  // namespace

const FamilyInfo& info(Family family) { return *families[static_cast<size_t>(family)]; }

std::vector<Parameter> parameters(const Schedule& schedule) {
  std::vector<Parameter> all = info(schedule.family).named(schedule);
  all.insert(all.begin(), {"lanes", std::to_string(schedule.lanes)});
  all.push_back({"tail", std::string(tail_names[static_cast<size_t>(schedule.tail)])});
  if (schedule.stores == Stores::streamed) all.push_back({"stores", "streamed"});
  return all;
}

Result<void> check_common(const Layer& layer, const Schedule& schedule) {
  const LaneUse use = info(schedule.family).lanes;
  const int most = layer.most_lanes(use);
  if (schedule.lanes < 1 || !std::has_single_bit(static_cast<unsigned>(schedule.lanes)) ||
      schedule.lanes > most)
    return invalid(
        "schedule.lanes",
        fmt::format("lanes={} is not a power of two from 1 to {} ({} lanes of {} bytes fill a vector of {})",
                    schedule.lanes, most, most, layer.lane_bytes(use), info(layer.isa()).text));
  if (schedule.unroll < 1 || schedule.unroll > 16)
    return invalid("schedule.unroll", fmt::format("unroll={} is not in 1 .. 16", schedule.unroll));
  if (schedule.tail == Tail::mask && !layer.can_mask())
    return unsupported("schedule.tail",
                       fmt::format("{} cannot mask loads and stores of {}", info(layer.isa()).text,
                                   info(layer.nest().input.dtype).spec_name),
                       "use tail=split or tail=overlap");
  if (layer.nest().has_any_size() && schedule.family != Family::channels_last &&
      schedule.family != Family::channels_first)
    return unsupported("schedule.sizes", "the family is for one size", "use channels_last or channels_first");
  if (schedule.order == Order::strips && schedule.family != Family::channels_last)
    return unsupported("schedule.order", "only channels_last walks in strips", "use another order");
  return {};
}

Result<void> check(const Layer& layer, const Schedule& schedule) {
  if (auto common = check_common(layer, schedule); !common) return common;
  return info(schedule.family).check(layer, schedule);
}

int extra_registers(const PoolNest& nest, const ReductionFacts& facts) {
  return std::max(facts.extra_registers, epilogue_registers(nest));
}

}  // namespace pooljit::ir
