#include "ir/schedules/choose/row_cut.h"

#include <algorithm>
#include <bit>

#include "ir/reductions/float_keys.h"

#include "ir/schedules/choose/facts.h"
#include "ir/schedules/lowering/row_family.h"
#include "ir/schedules/lowering/row_rules.h"

namespace pooljit::ir {

namespace {

// In halves of the time that a vector of 64 bytes takes. Fitted to rows of 6 to 150 outputs, kernels of 2, 3
// and 5 and elements of 1 to 8 bytes on a Zen 4 core (docs/tuning.md); they decide an order, no more.
struct TileCosts {
  double narrow = 1;  // a tile of up to 32 bytes
  double wide = 2;
  double masked_store = 0;  // on top of the tile
  double change = 0;        // a narrow tile behind wide ones
  double single = 0;        // a tile of one output
};

// Rows of so few outputs roll if padding or few rows of outputs keep channels_first from taking several rows
// together.
bool may_roll_down(const Layer& layer) {
  constexpr int64_t few_rows = 12;
  const PoolNest& nest = layer.nest();
  const NestDim& dim = nest.dims.back();
  const int64_t rows = nest.dims.size() > 1 ? nest.dims[nest.dims.size() - 2].output : 1;
  return 2 * dim.output <= 3 * int64_t{layer.fitting_lanes(row_lanes, dim.output)} &&
         (dim.pad_begin + dim.pad_end > 0 || rows < few_rows);
}

TileCosts tile_costs(const Layer& layer) {
  const PoolNest& nest = layer.nest();
  const ReductionFacts& facts = layer.facts(row_lanes);
  const NestDim& dim = nest.dims.back();
  const bool strided = dim.stride > 1;
  const bool by_keys = facts.is_idempotent && dim.kernel >= least_keyed_kernel;
  const int stored_bytes = bytes(nest.output.dtype);
  TileCosts costs{.narrow = layer.machine().narrow_tile};
  if (info(layer.isa()).mask == MaskEncoding::vector)
    costs.masked_store = strided ? 1.2 : 4;
  else if (strided)
    costs.masked_store = 0;
  else if (stored_bytes == 1)
    costs.masked_store = 1.2;
  else
    costs.masked_store = by_keys ? 0.1 : stored_bytes == 2 ? 0.7 : 0.3;
  const bool one_divisor =
      nest.count_include_pad || nest.divisor_override || dim.pad_begin + dim.pad_end == 0;
  if (!facts.is_idempotent && one_divisor && stored_bytes >= 4) costs.narrow -= 0.1, costs.change = 0.2;
  if (short_sums(layer) && layer.can_mask() && strided && dim.kernel == 2) costs.masked_store = 1.2;
  // One output alone waits for each of its taps: from 7 columns on more than a vector of outputs, up to 11
  // times a kernel's time at 21, on a Zen 5; but where it rolls down the plane.
  constexpr double columns_a_cost = 3;
  const bool waits = strided && !has_few_registers(layer) && !may_roll_down(layer) &&
                     (stored_bytes > 1 || !facts.is_idempotent);
  costs.single =
      waits ? std::max(costs.narrow, static_cast<double>(dim.kernel) / columns_a_cost) : costs.narrow;
  return costs;
}

}  // namespace

bool stores_whole_vectors(int64_t outputs, const RowChoice& cut) {
  return cut.tail != Tail::mask || outputs % cut.lanes == 0 ||
         std::has_single_bit(static_cast<uint64_t>(outputs % cut.lanes));
}

RowChoice cheapest_cut(const Layer& layer, int fitting) {
  const PoolNest& nest = layer.nest();
  const TileCosts costs = tile_costs(layer);
  const NestDim& dim = nest.dims.back();
  const Interior inside = interior(dim);
  const bool masks = layer.can_mask();
  const int64_t borders = masks ? 0 : dim.output - (inside.end - inside.begin);
  const auto tile = [&](int64_t lanes) {
    return lanes * layer.lane_bytes(row_lanes) > 32 ? costs.wide : costs.narrow;
  };
  const auto outputs_of = [&](const RowChoice& cut) {
    const bool fills = cut.tail == Tail::overlap && can_fill_borders(nest, layer.isa(), cut.lanes);
    return fills ? dim.output : dim.output - borders;
  };
  const auto row = [&](const RowChoice& cut) {
    const int64_t outputs = outputs_of(cut);
    const int64_t whole = outputs / cut.lanes;
    const auto rest = static_cast<uint64_t>(outputs % cut.lanes);
    // One by one, what no vector takes.
    const double alone = static_cast<double>(dim.output - outputs) * costs.narrow;
    const double cost = alone + static_cast<double>(whole) * tile(cut.lanes);
    if (rest == 0) return cost;
    if (cut.tail == Tail::overlap) return cost + tile(cut.lanes);
    if (cut.tail == Tail::split) return cost + std::popcount(rest) * costs.narrow;
    const double last = rest == 1 ? costs.single : tile(static_cast<int64_t>(std::bit_ceil(rest)));
    const double change = whole > 0 && last < tile(cut.lanes) ? costs.change : 0;
    return cost + last + change + (std::has_single_bit(rest) ? 0 : costs.masked_store);
  };
  const Tail exact = exact_tail(layer);
  RowChoice best{fitting, exact};
  for (int lanes = fitting; lanes > 1 && lanes >= fitting / (masks ? 2 : 4); lanes /= 2)
    for (const Tail tail : {exact, Tail::overlap}) {
      const int64_t outputs = outputs_of({lanes, tail});
      const bool ends_whole = outputs % lanes == 0 && outputs == dim.output - borders;
      if (tail == Tail::overlap && (outputs < lanes || ends_whole)) continue;
      if (row({lanes, tail}) < row(best)) best = {lanes, tail};
    }
  return best;
}

}  // namespace pooljit::ir
