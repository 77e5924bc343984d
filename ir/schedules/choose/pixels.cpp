#include "ir/schedules/choose/pixels.h"

#include <algorithm>

#include "ir/schedules/choose/offers.h"
#include "ir/schedules/families/channels_last_strips.h"
#include "ir/schedules/families/window_rows.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {
namespace {

// Measured with 2 MiB of L2, images of 0.4 to 24 MB, 64 to 512 channels (docs/notes/performance.md): in
// quarters of what is near, so many bytes of input and output.
constexpr int64_t quarters_by_window = 7, quarters_by_row = 10, quarters_in_strips = 14;
// Taps of a sum that cost no more than memory does.
constexpr int64_t few_summed = 9;

bool moves_more_than(const Layer& layer, int64_t quarters) {
  return reads_whole_pixels(layer.nest()) && moved_bytes(layer.nest()) > quarters * near_bytes / 4;
}

}  // namespace

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

bool prefers_whole_rows(const Layer& layer) { return moves_more_than(layer, quarters_by_row); }
bool prefers_strips(const Layer& layer) { return moves_more_than(layer, quarters_in_strips); }

bool prefers_whole_pixels(const Layer& layer) {
  const PoolNest& nest = layer.nest();
  const NestDim& row = nest.dims.back();
  const bool is_cheap =
      nest.is_extreme() ? row.kernel < 2 * row.stride || row.kernel == 2 : nest.full_taps() <= few_summed;
  return is_cheap && bytes(nest.input.dtype) >= 4 && moves_more_than(layer, quarters_by_window);
}

bool has_few_channels(const Layer& layer) { return layer.nest().channels <= 8 && !layer.can_mask(); }

bool rolls_over_bytes(const Layer& layer) {
  constexpr int64_t most_columns = 8;
  const PoolNest& nest = layer.nest();
  const ReductionFacts& facts = layer.facts(LaneUse::fixed);
  // An image is walked once for each vector of channels.
  const int64_t walks = ceil_div(nest.channels, int64_t{info(layer.isa()).vector_bytes});
  return bytes(nest.input.dtype) == 1 && facts.is_idempotent && nest.dims.back().kernel <= most_columns &&
         nest.channels % 16 == 0 && layer.image_bytes() <= near_bytes / walks &&
         can_roll(nest, facts, layer.isa(), 1);
}

bool rolls_bytes_by_channels(const Layer& layer) {
  constexpr int64_t least_channels = 16, many_channels = 64, few = 3, most_columns = 7;
  const PoolNest& nest = layer.nest();
  const auto is_pool = [](const NestDim& dim) { return dim.kind == DimKind::pool; };
  const bool is_plain = nest.is_extreme() && bytes(nest.input.dtype) == 1 && waits_for_loads(nest) &&
                        nest.dims.size() == 2 && std::ranges::all_of(nest.dims, is_pool);
  if (!is_plain || nest.channels < least_channels) return false;
  const NestDim &down = nest.dims[0], &row = nest.dims[1];
  if (row.stride != 1 || row.dilation != 1 || row.kernel < 2 || row.kernel > most_columns) return false;
  if (down.stride >= down.kernel)
    return has_few_registers(layer) || nest.channels > many_channels || row.kernel <= few;
  const bool is_near = layer.image_bytes() <= (has_few_registers(layer) ? 2 : 8) * near_bytes;
  const bool fills = nest.channels > many_channels || nest.channels % least_channels == 0;
  const int64_t most = fills ? few : few - 1;
  return down.kernel <= most && row.kernel <= most && layer.image_bytes() > first_cache_image && is_near;
}

}  // namespace pooljit::ir
