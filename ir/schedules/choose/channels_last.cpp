#include <algorithm>

#include "ir/schedules/choose/offers.h"
#include "ir/schedules/choose/pixels.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {
namespace {

// Windows of so many taps keep a vector busy until many others could have begun.
constexpr int64_t long_window = 32;

const ReductionFacts& facts_of(const Layer& layer) { return layer.facts(channels_last_family.lanes); }

// True if all windows are whole and alike, and so few taps that straight-line code takes each float from
// memory as it is.
bool takes_from_memory(const PoolNest& nest) {
  const bool are_alike = std::all_of(nest.dims.begin(), nest.dims.end(), [](const NestDim& dim) {
    const std::vector<Run> all = runs(dim);
    return all.size() == 1 && all[0].window.taps == dim.most_taps() &&
           all[0].window.padded_taps == dim.most_taps();
  });
  return are_alike && !nest.indices && !nest.is_backward() && nest.reduction != Reduction::lp &&
         is_float(nest.input.dtype) && bytes(nest.input.dtype) >= 4 && nest.epilogue.empty() &&
         nest.output.dtype == nest.input.dtype && nest.full_taps() <= Lowering::unroll_taps;
}

// Eight vectors side by side pay where each is a long chain of taps; of integers, whose chains are short,
// only where images come from far.
bool pays_wide(const Layer& layer) {
  return layer.nest().full_taps() >= long_window &&
         (is_float(layer.nest().input.dtype) || layer.image_bytes() > layer.machine().near_bytes);
}

// Vectors side by side hold a value and a loaded tap or a sum's whole, with indices also an index and the
// tap's offset; one_each: the value only.
bool fits(const Layer& layer, bool one_each, int unroll) {
  const int each = static_cast<int>(facts_of(layer).state_vectors);
  const int needed = layer.nest().indices ? 5 * unroll : one_each ? unroll + 4 : 2 * each * unroll;
  return needed + extra_registers(layer.nest(), facts_of(layer)) < layer.registers();
}

// Windows with a stride share few columns, and what rolls waits for its own results.
bool shares_little(const Layer& layer, int lanes, int64_t vectors) {
  const PoolNest& nest = layer.nest();
  const NestDim& row = nest.dims.back();
  return has_few_registers(layer) && row.stride > 1 && vectors > 1 && nest.input.dtype == DType::f32 &&
         nest.channels % lanes == 0 && row.kernel <= (facts_of(layer).is_idempotent ? 5 : 7);
}

}  // namespace

Offer offer_channels_last(const Layer& layer, size_t most) {
  const PoolNest& nest = layer.nest();
  Schedule schedule{.family = Family::channels_last};
  schedule.lanes = layer.fitting_lanes(channels_last_family.lanes, layer.adjacent_channels());
  // What is left of the channels after the last whole block is done side by side too.
  const int64_t vectors = channel_vectors(nest, schedule.lanes);
  const bool one_each = schedule.lanes > 1 && takes_from_memory(nest);
  std::vector orders = {Order::rolling, Order::row_major};
  if (prefers_strips(layer)) orders.insert(orders.begin(), Order::strips);
  if (prefers_whole_pixels(layer)) std::swap(orders.front(), orders.back());
  if (shares_little(layer, schedule.lanes, vectors) && orders.front() == Order::rolling)
    std::swap(orders.front(), orders.back());
  Offer offer;
  for (const Order order : orders)
    for (const int unroll : {8, 4, 2, 1}) {
      if (unroll == 8 && (order != Order::row_major || !pays_wide(layer))) continue;
      if (unroll > 1 && (unroll >= 2 * vectors || !fits(layer, one_each, unroll))) continue;
      schedule.order = order;
      schedule.unroll = unroll;
      schedule.tail = exact_tail(layer);
      if (!check(layer, schedule)) continue;
      add_tails(offer.schedules, schedule, layer, nest.channels);
      // The last vector of an overlapping tail begins anywhere.
      if (largest_block(nest) > 1)
        std::erase_if(offer.schedules, [](const Schedule& one) { return one.tail == Tail::overlap; });
      if (offer.schedules.size() >= most) return offer;
    }
  return offer;
}

}  // namespace pooljit::ir
