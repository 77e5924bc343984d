// How a tile's vector of outputs is stored: which lanes, and each lane's factor of the divisor of an
// average.
#pragma once

#include "ir/schedules/lanes/row_tiles.h"
#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {

// Leaves out what indices need.
Lanes column_lanes(const PoolNest& nest, const Tile& tile);

}  // namespace pooljit::ir
