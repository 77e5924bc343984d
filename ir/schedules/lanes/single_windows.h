// Single windows: dimensions of a gradient that have one window. Nothing depends on their strides.
#pragma once

#include <optional>

#include "ir/nest.h"

namespace pooljit::ir {

// The gradient with a stride as long as the window in each such dimension: a position then looks at one
// window, and not at as many as would overlap there. None where no stride is shorter, and for code for all
// sizes.
std::optional<PoolNest> with_single_windows(const PoolNest& nest);

}  // namespace pooljit::ir
