#include "ir/schedules/choose/rows.h"

#include <algorithm>
#include <bit>

#include "ir/reductions/float_keys.h"
#include "ir/schedules/choose/offers.h"
#include "ir/schedules/families/window_rows.h"
#include "ir/schedules/lowering/row_family.h"
#include "ir/schedules/lowering/row_rules.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {

// Found by measuring square planes of 12 to 112 columns on a Zen 3. whole_planes is as fast in a few short
// rows, but its code takes five to ten times as long to make; halves have row_passes in long ones.
bool shares_filled_rows(const Layer& layer) {
  constexpr int64_t most_taps = 8, few_outputs = 14, few_outputs_of_three = 19, many_halves = 64;
  const PoolNest& nest = layer.nest();
  const NestDim& row = nest.dims.back();
  if (!layer.facts(row_lanes).is_idempotent || nest.indices || row.stride != 1 || row.dilation != 1 ||
      row.kernel > most_taps)
    return false;
  if (row.output < (row.kernel == 3 ? few_outputs_of_three : few_outputs)) return false;
  if (is_half(nest.input.dtype) && row.output >= many_halves) return false;
  const auto whole = static_cast<int>(std::bit_floor(static_cast<uint64_t>(row.output)));
  const int fitting = ir::fitting_lanes(row.output, layer.isa(), layer.facts(row_lanes).working_bytes);
  return can_fill_borders(nest, layer.isa(), std::min(whole, fitting));
}

bool sums_in_short_lanes(const Layer& layer) {
  const ReductionFacts& facts = layer.facts(row_lanes);
  return bytes(layer.nest().input.dtype) == 1 && !facts.is_idempotent && facts.working_bytes == 2;
}

// 0.80 to 0.98 of the time of eight at a time, planes of 10 to 56 columns on a Zen 3; windows of three
// columns take 1.1 to 1.3 of it.
bool sums_pairs_of_bytes(const Layer& layer) {
  const NestDim& row = layer.nest().dims.back();
  return shuffles_in_halves(layer) && bytes(layer.nest().input.dtype) == 1 && !sums_in_short_lanes(layer) &&
         !layer.facts(row_lanes).is_idempotent && row.kind == DimKind::pool && row.kernel == 2 &&
         row.stride == 2;
}

bool is_walked_by_row(const Layer& layer) {
  constexpr int64_t most_plane_bytes = int64_t{1} << 18;
  constexpr int64_t few_rows = 3;
  const PoolNest& nest = layer.nest();
  int64_t plane_bytes = bytes(nest.input.dtype);
  for (const NestDim& dim : nest.dims) plane_bytes *= dim.input;
  const bool has_few_rows = nest.dims.size() < 2 || nest.dims[nest.dims.size() - 2].kernel <= few_rows;
  return plane_bytes > most_plane_bytes || (has_few_rows && layer.image_bytes() > 2 * near_bytes);
}

namespace {

// Measured on a Zen 5 at 28 to 3840 columns and windows of 5 to 15 bytes; longer rows are walked one by one.
int64_t most_short_sums_side_by_side(const Layer& layer, int64_t vectors) {
  constexpr int64_t longest_row = 3000;
  const int64_t columns = layer.nest().dims.back().output;
  if (columns > longest_row) return 1;
  if (vectors <= 8) return vectors > 4 ? 8 : vectors;
  return columns > longest_row / 2 ? 2 : 4;
}

bool can_roll(const Layer& layer, int lanes, int beside) {
  const Schedule schedule{
      .own = ChannelsFirstFields{{.vectors_side_by_side = beside, .scan = RowFields::Scan::rolling}},
      .lanes = lanes};
  return RowRules(layer.nest(), schedule, layer.isa(), layer.facts(row_lanes)).can_roll();
}

// Of long rows, where nothing is converted first: windows of few columns have little in common, and fewer
// vectors that wait for each other take 0.63 to 0.95 of the time. Rows of 80 to 224 columns on a Zen 5.
int most_beside(const Layer& layer, int64_t vectors) {
  constexpr int most = 4, of_five_columns = 3, of_few = 2;
  const NestDim& row = layer.nest().dims.back();
  const DType dtype = layer.nest().input.dtype;
  const int lane = layer.lane_bytes(row_lanes);
  // Maxima of integers are one instruction each.
  if (!is_float(dtype) && lane > 1 && layer.facts(row_lanes).is_idempotent)
    return vectors <= 3 ? static_cast<int>(vectors) : of_few;
  if (lane == 2 && row.kernel == 5 && vectors > of_five_columns) return of_five_columns;
  if (vectors <= most) return static_cast<int>(vectors);
  if (bytes(dtype) != lane || row.kernel > 7) return most;
  if (row.kernel == 5) return of_five_columns;
  return lane == 4 && row.output >= 96 ? of_few : most;
}

// Found by measuring planes of 7 to 112 columns and windows of 5 to 21, of 1 to 8 bytes.
int best_beside(const Layer& layer, int lanes) {
  const NestDim& row = layer.nest().dims.back();
  const ReductionFacts& facts = layer.facts(row_lanes);
  const int64_t vectors = ceil_div(row.output, lanes);
  if (row.kind != DimKind::pool || row.stride != 1 || row.kernel < least_keyed_kernel || vectors < 2 ||
      !layer.can_mask() || (is_walked_by_row(layer) && !sums_in_short_lanes(layer)))
    return 1;
  if (!has_few_registers(layer)) {
    if (sums_in_short_lanes(layer)) {
      const auto beside = static_cast<int>(most_short_sums_side_by_side(layer, vectors));
      return beside > 1 && can_roll(layer, lanes, beside) ? beside : 1;
    }
    for (int beside = most_beside(layer, vectors); beside > 1; --beside)
      if (can_roll(layer, lanes, beside)) return beside;
    return 1;
  }
  // Longer rows: row_passes.
  const int64_t most_vectors = row.kernel >= 9 ? 8 : 5;
  if (vectors > most_vectors || (!facts.is_idempotent && can_roll(layer, lanes, 1))) return 1;
  for (int beside = vectors <= 4 ? static_cast<int>(vectors) : 3; beside > 1; --beside)
    if (can_roll(layer, lanes, beside)) return beside;
  return 1;
}

}  // namespace

SideBySide best_side_by_side(const Layer& layer, int lanes) {
  const int beside = best_beside(layer, lanes);
  if (beside > 1 || has_few_registers(layer) || sums_in_short_lanes(layer)) return {lanes, beside};
  // Narrower ones reach over windows that one vector and the next do not, and move bytes in fewer steps: 0.6
  // to 0.75 of the time of 32 at once, planes of 17 to 28 columns on a Zen 5.
  const bool moves_bytes =
      layer.facts(row_lanes).is_idempotent && layer.lane_bytes(row_lanes) == 1 && lanes == 32;
  const bool rolls = can_roll(layer, lanes, 1);
  for (int narrower = lanes / 2; narrower * layer.lane_bytes(row_lanes) >= 16; narrower /= 2) {
    if (rolls && !(moves_bytes && narrower == 16)) break;
    if (const int vectors = best_beside(layer, narrower); vectors > 1) return {narrower, vectors};
  }
  return {lanes, 1};
}

bool rolls_wide_windows(const Layer& layer) {
  constexpr int64_t wide_columns = 17;
  const PoolNest& nest = layer.nest();
  const NestDim& row = nest.dims.back();
  if (nest.dims.size() < 2 || has_few_registers(layer) || is_walked_by_row(layer)) return false;
  // Long rows of halves: sums of 8 columns and more, maxima of 5 and 6, and of up to 16 in rows that are not
  // so long.
  const bool maxima = layer.facts(row_lanes).is_idempotent;
  const bool are_halves = is_half(nest.input.dtype) && row.output >= 128 &&
                          row.kernel >= least_keyed_kernel &&
                          (maxima ? row.kernel <= 6 || row.output < 160 : row.kernel >= 8);
  if (row.kernel < wide_columns && !are_halves) return false;
  const int lanes = layer.fitting_lanes(row_lanes, row.output);
  return best_side_by_side(layer, lanes).vectors > 1 || can_roll(layer, lanes, 1);
}

// Measured at windows of 9 to 31 rows, of 1, 2 and 4 bytes.
bool are_windows_tall(const Layer& layer) {
  constexpr int64_t least_rows = 9, most_columns = 3;
  const PoolNest& nest = layer.nest();
  if (has_few_registers(layer) || nest.indices || nest.is_backward() || nest.dims.size() < 2) return false;
  const NestDim &rows = nest.dims[nest.dims.size() - 2], &columns = nest.dims.back();
  const auto is_dense = [](const NestDim& dim) {
    return dim.kind == DimKind::pool && dim.stride == 1 && dim.dilation == 1;
  };
  return is_dense(rows) && is_dense(columns) && rows.kernel >= least_rows && columns.kernel <= most_columns;
}

// Of 7 to 15 columns 0.15 to 0.75 of the time of channels_first, on a Zen 5 and a Granite Rapids.
bool are_windows_far_apart(const Layer& layer) {
  const NestDim& dim = layer.nest().dims.back();
  const int64_t least = !has_few_registers(layer) ? 9 : layer.nest().indices ? 8 : 7;
  return dim.output >= 2 && dim.most_taps() >= least && dim.tap_step() == 1 && dim.period().output == 1 &&
         dim.period().input >= least && can_take_window_rows(layer, 2);
}

}  // namespace pooljit::ir
