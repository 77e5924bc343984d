// Memory order: makes the dimension whose elements are nearest in memory the innermost one. Planes of one
// column, and views whose height is adjacent, then have rows that vectors can load.
#pragma once

#include <optional>

#include "ir/isa.h"
#include "ir/nest.h"

namespace pooljit::ir {

// The same windows in another order of dimensions; none where the nest's own serves, where it decides
// (indices, code for all sizes, gradients), or where moving a dimension would change the order of taps that a
// result depends on.
std::optional<PoolNest> in_memory_order(const PoolNest& nest, Isa isa);

}  // namespace pooljit::ir
