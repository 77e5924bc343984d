#include "ir/schedules/layer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/reductions/epilogue.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lanes/memory_order.h"
#include "ir/schedules/lanes/single_windows.h"
#include "ir/schedules/lanes/sum_gradient.h"

namespace pooljit::ir {

bool can_mask(const PoolNest& nest, Isa isa) {
  if (info(isa).masks_narrow) return true;
  const auto wide = [](const View& view) { return bytes(view.dtype) >= 4; };
  const std::vector<View> operands = operand_views(nest);
  return wide(nest.input) && wide(nest.output) && (!nest.indices || wide(*nest.indices)) &&
         std::all_of(operands.begin(), operands.end(), wide);
}

int fitting_lanes(int64_t count, Isa isa, int working_bytes) {
  const int most = info(isa).vector_bytes / working_bytes;
  int lanes = 1;
  while (lanes < most && lanes < count) lanes *= 2;
  return lanes;
}

Layer::Layer(const PoolNest& nest, Isa isa, const Machine& machine)
    : nest_(&nest),
      isa_(isa),
      machine_(&machine),
      can_mask_(ir::can_mask(nest, isa)),
      adjacent_channels_(ir::adjacent_channels(nest)),
      adjacent_channels_read_(ir::adjacent_channels_read(nest)),
      image_bytes_(ir::image_bytes(nest)) {}

Result<Layer> Layer::of(const PoolNest& nest, Isa isa, const Machine& machine) {
  if (is_pools(nest))
    return invalid("schedule.members", "a family does one pool, not several", "a schedule for each");
  auto other = as_forward_sum(nest);
  if (auto found = with_single_windows(nest); found && !other) other = std::move(found);
  if (auto found = in_memory_order(other ? *other : nest, isa)) other = std::move(found);
  std::shared_ptr<const PoolNest> ordered;
  if (other) ordered = std::make_shared<const PoolNest>(std::move(*other));
  Layer layer(ordered ? *ordered : nest, isa, machine);
  layer.ordered_ = std::move(ordered);
  for (const LaneUse lanes : {LaneUse::moved, LaneUse::fixed, LaneUse::joined}) {
    const auto facts = reduction_facts(layer.nest(), isa, lanes);
    if (!facts) return tl::unexpected(facts.error());
    layer.facts_[static_cast<size_t>(lanes)] = *facts;
    layer.lane_bytes_[static_cast<size_t>(lanes)] = std::max(facts->working_bytes, epilogue_bytes(nest));
  }
  return layer;
}

Layer Layer::over(const PoolNest& nest) const {
  Layer layer(nest, isa_, *machine_);
  layer.facts_ = facts_;
  layer.lane_bytes_ = lane_bytes_;
  layer.rule_notes_ = rule_notes_;
  return layer;
}

int Layer::fitting_lanes(LaneUse lanes, int64_t count) const {
  return ir::fitting_lanes(count, isa_, lane_bytes(lanes));
}

}  // namespace pooljit::ir
