#include <algorithm>
#include <array>

#include "ir/schedules/choose/offers.h"
#include "ir/schedules/choose/pixels.h"
#include "ir/schedules/choose/rows.h"
#include "ir/schedules/families/window_rows.h"

namespace pooljit::ir {
namespace {

using Along = WholePixelsFields::Along;

int64_t rows_of(const PoolNest& nest) {
  return nest.dims.size() > 1 ? nest.dims[nest.dims.size() - 2].most_taps() : 1;
}

// The share of windows that have the usual taps; the others are taken pixel by pixel.
double usual_share(const PoolNest& nest) {
  double share = 1;
  for (const NestDim& dim : nest.dims) {
    const std::vector<Run> all = runs(dim);
    const int64_t usual = usual_taps(dim, all);
    int64_t outputs = 0;
    for (const Run& run : all) outputs += run.window.taps == usual ? run.outputs() : 0;
    share *= double(outputs) / double(dim.output);
  }
  return share;
}

// Vectors of 64 bytes hold pixels in pieces. Pieces of all pixels of a window, one after the other, lie so
// far apart that none is brought in advance: 0.55 to 1.05 of the time of channels_last on a Zen 5, windows of
// more than 64 pixels in the second cache, or of 32 beyond it. Sums of bytes in 16 bits and halves of shorter
// pixels gain nothing in the second cache.
bool is_worth_it_in_pieces(const Layer& layer) {
  constexpr int64_t least_taps = 65, least_taps_of_far = 32, least_bytes = 576, least_of_halves = 1024,
                    least_of_far_halves = 512, least_far_sums = 256;
  const PoolNest& nest = layer.nest();
  const bool is_far = layer.image_bytes() >= near_bytes, is_near = is_one_near_window(layer);
  if (nest.full_taps() < (is_far ? least_taps_of_far : least_taps) || !(is_far || is_near)) return false;
  const int64_t pixel = nest.channels * bytes(nest.input.dtype);
  switch (bytes(nest.input.dtype)) {
    case 1: {
      const int lane_bytes = layer.lane_bytes(LaneUse::fixed);
      if (layer.facts(LaneUse::fixed).is_idempotent) return pixel >= least_bytes;
      return is_far ? pixel >= least_far_sums : lane_bytes >= 4 && nest.channels * lane_bytes >= least_bytes;
    }
    case 2:
      return pixel >= (is_far ? least_of_far_halves : least_of_halves);
    default:
      return pixel >= least_bytes;
  }
}

// Windows of many taps, pixels that registers hold in many pieces, images that outgrow the caches of a core.
// AVX2 was measured on a Zen 3 (512 KiB of L2) by rows_first (docs/notes/performance.md).
bool is_worth_it(const Layer& layer) {
  if (!has_few_registers(layer)) return is_worth_it_in_pieces(layer);
  const PoolNest& nest = layer.nest();
  const int64_t image = layer.image_bytes(), taps = nest.full_taps();
  constexpr int64_t least_pixel_bytes = 256;
  const int64_t pixel = nest.channels * bytes(nest.input.dtype);
  const bool is_far = image >= near_bytes && taps >= 32;
  // Bytes whose windows are too large for sums of 16 bits are held in 32.
  if (bytes(nest.input.dtype) == 1 && is_far)
    return nest.channels * layer.facts(LaneUse::fixed).working_bytes >= least_pixel_bytes;
  if (pixel < least_pixel_bytes) return false;
  if (is_far) return true;
  const double usual = usual_share(nest);
  if (std::max(rows_of(nest), nest.dims.back().most_taps()) < 4 || usual < 0.5) return false;
  if (image >= near_bytes) return taps >= 16;
  if (usual < 1 || taps < (bytes(nest.input.dtype) == 1 ? 25 : 16)) return false;
  // Where registers hold a part of each pixel, those of a long column share a few sets of L1.
  const int64_t least_window = (pixel % 1024 == 0 ? 48 : 96) << 10;
  return image >= near_bytes / 4 || (is_one_window(nest) && taps * pixel >= least_window);
}

// Halves, and bytes in lanes of 16 bits, of images that wait for memory.
bool are_far_short_lanes(const Layer& layer) {
  const int size = bytes(layer.nest().input.dtype);
  return layer.image_bytes() >= near_bytes && (size == 2 || (size == 1 && sums_in_short_lanes(layer)));
}

// The better one first, measured as above.
std::vector<Along> neighbours(const Layer& layer) {
  const PoolNest& nest = layer.nest();
  if (nest.dims.size() == 1) return {Along::row};
  const int64_t rows = rows_of(nest);
  const bool has_high_windows = rows >= 4 || rows > nest.dims.back().most_taps();
  if (has_few_registers(layer) ? has_high_windows : !are_far_short_lanes(layer))
    return {Along::column, Along::row};
  return {Along::row, Along::column};
}

std::array<int, 3> vectors_side_by_side(const Layer& layer) {
  if (has_few_registers(layer) || are_far_short_lanes(layer)) return {2, 4, 1};
  if (bytes(layer.nest().input.dtype) == 2) return {4, 2, 1};
  return {8, 4, 2};
}

}  // namespace

Offer offer_whole_pixels(const Layer& layer, size_t most) {
  Schedule schedule = schedule_of(Family::whole_pixels);
  schedule.lanes = layer.fitting_lanes(whole_pixels_family.lanes, layer.adjacent_channels());
  schedule.tail = exact_tail(layer);
  if (layer.adjacent_channels() == 1)
    return {{}, "channels do not lie next to each other: there are no pixels to read whole"};
  if (overlaps(layer.nest())) return {{}, "windows overlap: each pixel would be read for each of them"};
  if (!is_worth_it(layer))
    return {{}, "images, pixels or windows are so small that registers do as well as scratch memory"};
  Offer offer;
  for (const Along along : neighbours(layer))
    for (const int vectors : vectors_side_by_side(layer)) {
      schedule.own = WholePixelsFields{.vectors_side_by_side = vectors, .pixels_along = along};
      if (!check(layer, schedule)) continue;
      offer.schedules.push_back(schedule);
      if (offer.schedules.size() == most) return offer;
    }
  return offer;
}

}  // namespace pooljit::ir
