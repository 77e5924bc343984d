#include "ir/schedules/lowering/tile_lanes.h"

#include <algorithm>

namespace pooljit::ir {

Lanes column_lanes(const PoolNest& nest, const Tile& tile) {
  const NestDim& dim = nest.dims.back();
  Lanes lanes = Lanes::channels(tile.lanes);
  lanes.are_columns = true;
  const std::vector<int64_t> none(static_cast<size_t>(tile.lanes), 0);
  std::vector<int64_t> empty = none;
  const bool are_whole = dim.kind == DimKind::pool && !tile.border;
  Window window;
  for (int64_t lane = 0; lane < tile.valid; ++lane) {
    const size_t i = static_cast<size_t>(lane);
    if (lane == 0 || !are_whole) window = dim.window(tile.begin + lane);
    lanes.divisor_taps[i] = divisor_taps(nest, window);
    empty[i] = window.taps == 0;
  }
  if (std::find(empty.begin(), empty.end(), 1) != empty.end()) lanes.empty = std::move(empty);
  if (tile.valid < tile.lanes) {
    lanes.stored = none;
    std::fill_n(lanes.stored.begin(), tile.valid, 1);
  }
  return lanes;
}

}  // namespace pooljit::ir
