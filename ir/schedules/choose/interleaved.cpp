#include "ir/schedules/choose/offers.h"
#include "ir/schedules/lanes/pixel_rows.h"

namespace pooljit::ir {

namespace {

// Maxima of strided windows of 1 and 2 bytes, where shuffles are put together from halves: from so many
// channels on vectors of channels do less. 0.27 to 0.9 of interleaved's time, measured at 2 to 64 channels
// on a Zen 5's AVX2.
bool are_shuffles_dear(const Layer& layer) {
  const PoolNest& nest = layer.nest();
  const NestDim& row = nest.dims.back();
  const int element = bytes(nest.input.dtype);
  if (row.stride == 1 || row.kernel <= 2 || element > 2 || !shuffles_in_halves(layer) || !nest.is_extreme())
    return false;
  return nest.channels >= (element == 1 && row.kernel < 5 ? 16 : 8);
}

}  // namespace

// What channels_first would do with the rows of pixels.
Offer offer_interleaved(const Layer& layer, size_t most) {
  if (!has_pixel_rows(layer.nest())) return {};
  if (are_shuffles_dear(layer)) return {{}, "windows of several columns: shuffles cost more than idle lanes"};
  const PoolNest rows = as_one_channel(layer.nest());
  Offer offer = offer_channels_first(layer.over(rows), most);
  for (Schedule& schedule : offer.schedules) schedule.family = Family::interleaved;
  return offer;
}

}  // namespace pooljit::ir
