#include "ir/schedules/choose/pixels.h"

#include <algorithm>

#include "ir/schedules/choose/offers.h"
#include "ir/schedules/families/channels_last_strips.h"
#include "ir/schedules/families/window_rows.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {
bool is_in_second_cache(const Layer& layer) {
  return layer.image_bytes() > first_cache_image && layer.image_bytes() <= near_bytes;
}

bool waits_for_loads(const PoolNest& nest) { return !nest.indices && !nest.is_backward() && !nest.is_norm(); }

bool overlaps(const PoolNest& nest) {
  return std::any_of(nest.dims.begin(), nest.dims.end(), [](const NestDim& dim) {
    return dim.kind == DimKind::pool && dim.stride < dim.kernel && dim.output > 1;
  });
}

bool is_one_near_window(const Layer& layer) {
  const PoolNest& nest = layer.nest();
  return !has_few_registers(layer) && waits_for_loads(nest) && is_one_window(nest) &&
         is_in_second_cache(layer) &&
         nest.full_taps() * nest.channels * bytes(nest.input.dtype) > first_cache_image;
}

}  // namespace pooljit::ir
