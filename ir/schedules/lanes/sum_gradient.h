// Sum gradients: the gradient of a sum whose windows move by one position is itself a sum, over the windows
// that contain a position. As a forward sum it gets the same schedules: rows that roll, columns by doublings.
#pragma once

#include <optional>

#include "ir/nest.h"

namespace pooljit::ir {

// The forward sum that gives what the gradient does; none for other nests, for code for all sizes, where the
// forward crops its input, or where a window's own padding is more than it is long.
std::optional<PoolNest> as_forward_sum(const PoolNest& nest);

}  // namespace pooljit::ir
