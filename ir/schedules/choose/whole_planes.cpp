#include <algorithm>
#include <array>
#include <optional>

#include "ir/schedules/choose/offers.h"
#include "ir/schedules/choose/pixels.h"
#include "ir/schedules/choose/rows.h"
#include "ir/schedules/families/whole_planes_tiles.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {
namespace {

// The most joins and shuffles that a plane's code may have, by bytes of an element. Longer code takes longer
// to make and gains little; of halves, where other families widen both parts of each vector, most. More are
// allowed where others do the borders of each row output by output, still more in the widest vectors.
constexpr int64_t most_work_of_bytes = 400, most_work_of_halves = 800, most_work = 500;
constexpr int64_t most_work_for_borders = 800, most_wide_work_for_borders = 1500;
// In pairs each shuffle of bytes is one instruction.
constexpr int64_t most_work_in_pairs = 800;
// Beyond that neighbours have so many columns in common that other families, which share them, do less.
constexpr int64_t most_shared_columns = 5;
// Wide elements from so many vectors take as many shuffles as they take joins where they lie.
constexpr int64_t many_strips = 8;
// Windows of so many wide elements leave no lane of window_rows idle for long.
constexpr int64_t many_columns = 12;

int lane_bytes(const Layer& layer) { return layer.lane_bytes(whole_planes_family.lanes); }

int fitting(const Layer& layer, int64_t count) {
  return layer.fitting_lanes(whole_planes_family.lanes, count);
}

int64_t outputs_of(const PoolNest& nest) { return nest.dims[0].output * nest.dims[1].output; }

// A row of the input that is one strip, or as few as may be: bytes that are left over cost less than lanes
// that stay idle.
int lanes_of_row(const Layer& layer) {
  const NestDim& columns = layer.nest().dims[1];
  return fitting(layer, columns.input - (lane_bytes(layer) == 1 ? columns.input / 16 : 0));
}

// The input's rows have more columns than the plane has outputs: where vectors hold a row, not all outputs,
// 0.25 to 0.8 of the time, planes of 5 to 40 columns on a Zen 5.
bool has_few_outputs(const Layer& layer) {
  constexpr int64_t most_narrow = 18;
  const PoolNest& nest = layer.nest();
  const bool in_short_lanes = sums_in_short_lanes(layer);
  return layer.can_mask() && nest.dims[1].stride > 1 && nest.dims[1].output > 1 &&
         (!in_short_lanes || nest.dims[1].input > most_narrow) &&
         fitting(layer, outputs_of(nest)) < lanes_of_row(layer);
}

// Bytes that are reduced in pairs, whose line vectors have twice as many lanes as tiles: those of rows that
// do not fit twice into a vector are narrow, if they can be; all others hold as many rows as may be. Planes
// of 7 to 64 columns under windows of 2 to 7 on a Zen 5. None: there are no pairs.
std::optional<int> lanes_of_pairs(const Layer& layer) {
  constexpr int64_t fits_twice = 21, fits_once = 42, few_outputs = 8;
  const int most = info(layer.isa()).vector_bytes / 2;
  const NestDim& columns = layer.nest().dims[1];
  if (columns.output == 1) return std::nullopt;
  // Taps at even distances are no pairs.
  if (columns.dilation % 2 == 0 && columns.input > fits_twice) return std::nullopt;
  // Of two or four taps a vector of 64 bytes is worth more than what pairs spare.
  if (columns.kernel <= 4 && columns.input > (columns.kernel == 2 ? most : fits_once)) return std::nullopt;
  const bool is_narrow =
      (columns.input > fits_twice && columns.input <= most) || outputs_of(layer.nest()) <= few_outputs;
  const int lanes = is_narrow ? most / 2 : most;
  return plane_pairs(layer, lanes) ? std::optional(lanes) : std::nullopt;
}

// Found by measuring planes of 13 to 112 columns. Where windows have a stride, a row that is one strip takes
// the fewest shuffles; so do bytes of rows that do not follow each other: 0.16 to 0.85 of the time. AVX2 puts
// bytes together from a register of 16, which two strips fill; where nothing is masked 0.4 to 0.97.
int best_lanes(const Layer& layer) {
  const NestDim &rows = layer.nest().dims[0], &columns = layer.nest().dims[1];
  const int most = fitting(layer, outputs_of(layer.nest()));
  const bool are_bytes = lane_bytes(layer) == 1;
  if (has_few_outputs(layer))
    return are_bytes && columns.input > 16 ? info(layer.isa()).vector_bytes : lanes_of_row(layer);
  if (sums_in_short_lanes(layer) && layer.can_mask()) return most;
  if (columns.stride == 1) {
    if (are_bytes && rows.stride > 1) return std::min(most, lanes_of_row(layer));
    const bool is_plain = !has_borders(columns) && columns.dilation == 1;
    return are_bytes && is_plain && shuffles_in_halves(layer) ? std::min(most, 16) : most;
  }
  const int lanes = std::min(most, lanes_of_row(layer));
  return are_bytes && shuffles_in_halves(layer) ? std::min(lanes, 8) : lanes;
}

// Borders that other families take output by output, as they cannot mask.
bool spares_borders(const Layer& layer) { return !layer.can_mask() && has_borders(layer.nest().dims[1]); }

// Rows of two vectors of four bytes that overlap, so that no half vector is left over; of halves, maxima.
// 0.73 to 0.89 of whole_planes' time, planes of 10 to 15 columns on a Zen 3.
bool rolls_two_vectors(const Layer& layer) {
  constexpr int64_t vector = 8;
  const NestDim& columns = layer.nest().dims[1];
  const int element = bytes(layer.nest().input.dtype);
  const bool suits = element == 4 || (element == 2 && layer.facts(whole_planes_family.lanes).is_idempotent);
  return suits && columns.kernel <= 3 && columns.dilation == 1 && columns.output > vector &&
         columns.output < 2 * vector && columns.output % 4 != 0;
}

// Sums of bytes in 16 bits: rows that fill vectors share columns in registers. Found by measuring planes of 7
// to 224 columns and windows of 3 to 7 on a Zen 5.
std::string_view short_sums_served_better(const Layer& layer, int lanes) {
  constexpr int64_t few_outputs = 14, most_alone = 16;
  const NestDim& columns = layer.nest().dims[1];
  const int64_t filled = ceil_div(columns.output, lanes) * lanes;
  if (layer.can_mask()) {
    if (4 * columns.output >= 3 * filled) return "channels_first rolls rows that fill vectors";
    return columns.kernel > most_shared_columns && columns.output > most_alone
               ? "windows have so many columns in common that families that share them do less"
               : "";
  }
  return columns.kernel <= 3 && columns.output >= few_outputs ? "channels_first rolls short sums" : "";
}

// Rows of so few columns that a vector holds several: what windows share along them costs less than the lanes
// that stay idle elsewhere. 0.03 to 1 of the time, planes of 4 to 12 columns and windows of 5 to 21 on a Zen
// 5; of rows a little longer 1.1 to 1.5.
bool has_short_rows(const Layer& layer) {
  constexpr int64_t few_columns = 9;
  if (!layer.can_mask()) return false;
  const NestDim& columns = layer.nest().dims[1];
  const int lane = lane_bytes(layer), element = bytes(layer.nest().input.dtype);
  const bool waits = element == 4 && lane == 4 && (columns.kernel > few_columns || has_few_registers(layer));
  const int64_t most = lane == 2 ? 12 : lane > 4 ? 4 : waits ? 6 : 8;
  return columns.output <= most;
}

// Strided windows of few elements of 4 bytes, without borders: 0.6 to 0.95 of the time by rows, planes of 22
// to 36 columns on a Zen 5; windows of 2 also of images twice as large as the second cache. Of smaller
// elements shuffles decide, and of borders and larger windows what rows leave to do.
bool are_planes_far_apart(const Layer& layer) {
  const PoolNest& nest = layer.nest();
  const int element = bytes(nest.input.dtype);
  const int64_t most_kernel = is_in_second_cache(layer) ? 3 : 2;
  const auto is_whole_and_small = [&](const NestDim& dim) {
    return dim.kernel <= most_kernel && !has_borders(dim);
  };
  const int64_t plane_bytes = nest.dims[0].input * nest.dims[1].input * element;
  return element == 4 && lane_bytes(layer) == 4 && !has_few_registers(layer) && nest.dims[1].stride > 1 &&
         plane_bytes > near_step_bytes && layer.image_bytes() > first_cache_image &&
         layer.image_bytes() <= 2 * near_bytes && std::ranges::all_of(nest.dims, is_whole_and_small);
}

// Maxima of 2 columns of elements of 1 and 2 bytes, without borders, in rows longer than a vector: 0.72 to
// 0.97 of the time by rows, planes of 36 to 80 columns on a Zen 5.
bool are_rows_longer_than_vectors(const Layer& layer) {
  const PoolNest& nest = layer.nest();
  const NestDim& columns = nest.dims[1];
  const int element = bytes(nest.input.dtype);
  const auto is_whole_and_strided = [](const NestDim& dim) {
    return dim.stride > 1 && dim.kernel <= 2 && !has_borders(dim);
  };
  return element <= 2 && layer.can_mask() && layer.facts(whole_planes_family.lanes).is_idempotent &&
         columns.kernel == 2 && columns.stride == 2 &&
         columns.input * element > info(layer.isa()).vector_bytes &&
         std::ranges::all_of(nest.dims, is_whole_and_strided);
}

// Which other family does less for what neighbouring windows have in common; empty: none does.
std::string_view served_better(const Layer& layer, int lanes) {
  const NestDim& columns = layer.nest().dims[1];
  const bool maxima = layer.facts(whole_planes_family.lanes).is_idempotent;
  if (are_rows_longer_than_vectors(layer)) return "rows longer than a vector: channels_first";
  if (are_planes_far_apart(layer)) return "planes in the second cache: channels_first reads them row by row";
  if (bytes(layer.nest().input.dtype) >= 4 && columns.kernel >= many_columns && has_few_outputs(layer))
    return "long windows of few outputs: window_rows";
  if (columns.stride > 1) return {};
  if (sums_in_short_lanes(layer))
    if (const std::string_view better = short_sums_served_better(layer, lanes);
        !better.empty() || layer.can_mask())
      return better;
  if (has_few_registers(layer) && maxima && is_float(layer.nest().input.dtype) &&
      best_side_by_side(layer, lanes).vectors > 1)
    return "channels_first rolls vectors side by side, which share columns";
  if (has_few_registers(layer) && rolls_two_vectors(layer))
    return "channels_first rolls two vectors that overlap, which share columns";
  if (shares_filled_rows(layer)) return "channels_first fills the borders of such rows in code that is short";
  if (spares_borders(layer))
    return maxima && lane_bytes(layer) == 1 && columns.kernel >= 5 &&
                   columns.output >= info(layer.isa()).vector_bytes
               ? "rows of bytes fill vectors: row_passes"
               : "";
  // Rows of one vector: what they share costs more shuffles than it spares.
  const bool few = has_few_registers(layer) && columns.kernel >= (maxima ? 11 : 7) && columns.output <= lanes;
  return columns.kernel > most_shared_columns && !few && !has_short_rows(layer)
             ? "windows have so many columns in common that families that share them do less"
             : "";
}

// Whether straight-line code of the plane pays.
bool pays(const Layer& layer, const Schedule& schedule) {
  const PoolNest& nest = layer.nest();
  const PlaneTiles tiles(layer, schedule);
  const bool is_wide = schedule.lanes == fitting(layer, outputs_of(nest)) && nest.input.dtype != DType::i16;
  const int64_t most_for_borders = is_wide ? most_wide_work_for_borders : most_work_for_borders;
  const int element = bytes(nest.input.dtype);
  const bool are_short_sums = sums_in_short_lanes(layer) && layer.can_mask();
  const int64_t most = tiles.pairs()                     ? most_work_in_pairs
                       : element == 1 && !are_short_sums ? most_work_of_bytes
                       : element == 2                    ? most_work_of_halves
                                                         : most_work;
  if (tiles.work() > (spares_borders(layer) ? most_for_borders : most)) return false;
  return element < 4 || !has_few_registers(layer) || tiles.most_line_vectors() < many_strips;
}

}  // namespace

Offer offer_whole_planes(const Layer& layer, size_t most) {
  const PoolNest& nest = layer.nest();
  Schedule schedule = schedule_of(Family::whole_planes);
  // Planes that the family cannot do are none whose rows we may ask about.
  const auto is_pool = [](const NestDim& dim) { return dim.kind == DimKind::pool; };
  if (nest.dims.size() != 2 || nest.is_backward() || nest.indices || !std::ranges::all_of(nest.dims, is_pool))
    return {};
  const int64_t least_apart = has_few_registers(layer) ? 8 : 16;
  if (are_windows_far_apart(layer) && nest.dims[1].period().input >= least_apart)
    return {{}, "windows are long and far apart: window_rows"};
  schedule.lanes = best_lanes(layer);
  if (const std::string_view better = served_better(layer, schedule.lanes); !better.empty())
    return {{}, better};
  std::vector<int> widths = {schedule.lanes};
  if (const auto in_pairs = lanes_of_pairs(layer)) widths.insert(widths.begin(), *in_pairs);
  const int widest = fitting(layer, outputs_of(nest));
  // Pairs too, where each row fills half a vector: 0.58 to 0.69 of channels_first's time for 16 columns.
  const bool shares_or_fills = nest.dims[1].kernel >= 3 || nest.dims[1].output == 16;
  const bool are_few_bytes = !layer.can_mask() && lane_bytes(layer) == 1 && shares_or_fills;
  if ((spares_borders(layer) || are_few_bytes) && widest > schedule.lanes) widths.push_back(widest);
  // Rows that do not fit what the family puts together.
  if (has_few_outputs(layer)) widths.push_back(widest);
  Offer offer;
  bool is_long = false;
  // Whole vectors are stored faster than masked ones, but then tiles do not end where rows do, which costs
  // shuffles of more vectors. A mask takes 0.92 of the time in the mean of 149 layers on three machines.
  for (const int lanes : widths)
    for (const Tail tail : {Tail::mask, Tail::overlap}) {
      if (offer.schedules.size() >= most) break;
      schedule.lanes = lanes;
      schedule.tail = tail;
      if (!check(layer, schedule)) continue;
      if (pays(layer, schedule))
        offer.schedules.push_back(schedule);
      else
        is_long = true;
    }
  if (offer.schedules.empty() && is_long)
    offer.left = "straight-line code of the whole plane would be too long";
  return offer;
}

}  // namespace pooljit::ir
