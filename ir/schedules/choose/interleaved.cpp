#include "ir/schedules/choose/offers.h"
#include "ir/schedules/lanes/pixel_rows.h"

namespace pooljit::ir {

// What channels_first would do with the rows of pixels.
Offer offer_interleaved(const Layer& layer, size_t most) {
  if (!has_pixel_rows(layer.nest())) return {};
  const PoolNest rows = as_one_channel(layer.nest());
  Offer offer = offer_channels_first(layer.over(rows), most);
  for (Schedule& schedule : offer.schedules) schedule.family = Family::interleaved;
  return offer;
}

}  // namespace pooljit::ir
