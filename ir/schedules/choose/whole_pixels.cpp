#include <algorithm>

#include "ir/schedules/choose/offers.h"
#include "ir/schedules/families/window_rows.h"

namespace pooljit::ir {
namespace {

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

// Windows of many taps, pixels that registers hold in many pieces, images that outgrow the caches of a core.
// AVX-512 was measured on a Sapphire Rapids (2 MiB of L2) by row_major, AVX2 on a Zen 3 (512 KiB) by
// rows_first (docs/performance.md).
bool is_worth_it(const Layer& layer, int lanes) {
  const PoolNest& nest = layer.nest();
  const int64_t image = layer.image_bytes(), near_bytes = layer.machine().near_bytes, taps = nest.full_taps();
  if (!was_measured_on_zen3(layer)) return image >= near_bytes && taps >= 32 && nest.channels >= 16 * lanes;
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

// The better one first, measured as above.
std::vector<Order> orders(const Layer& layer) {
  const PoolNest& nest = layer.nest();
  if (nest.dims.size() == 1) return {Order::row_major};
  const int64_t rows = rows_of(nest);
  if (was_measured_on_zen3(layer) && (rows >= 4 || rows > nest.dims.back().most_taps()))
    return {Order::rows_first, Order::row_major};
  return {Order::row_major, Order::rows_first};
}

bool overlaps(const PoolNest& nest) {
  return std::any_of(nest.dims.begin(), nest.dims.end(), [](const NestDim& dim) {
    return dim.kind == DimKind::pool && dim.stride < dim.kernel && dim.output > 1;
  });
}

}  // namespace

Offer offer_whole_pixels(const Layer& layer, size_t most) {
  Schedule schedule{.family = Family::whole_pixels};
  schedule.lanes = layer.fitting_lanes(whole_pixels_family.lanes, layer.adjacent_channels());
  schedule.tail = exact_tail(layer);
  if (layer.adjacent_channels() == 1)
    return {{}, "channels do not lie next to each other: there are no pixels to read whole"};
  if (overlaps(layer.nest())) return {{}, "windows overlap: each pixel would be read for each of them"};
  if (!is_worth_it(layer, schedule.lanes))
    return {{}, "images, pixels or windows are so small that registers do as well as scratch memory"};
  Offer offer;
  for (const Order order : orders(layer))
    for (const int unroll : {2, 4, 1}) {
      schedule.order = order;
      schedule.unroll = unroll;
      if (!check(layer, schedule)) continue;
      offer.schedules.push_back(schedule);
      if (offer.schedules.size() == most) return offer;
    }
  return offer;
}

}  // namespace pooljit::ir
