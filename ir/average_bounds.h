// How far the average of floats of any engine may be from the oracle's (ir/reference.h).
#pragma once

#include <cstdint>
#include <vector>

#include "ir/nest.h"

namespace pooljit::ir {

// (taps - 1) * eps * sum|x| / divisor, and what the oracle itself rounded; each at its output's place in the
// output view. 0 for at most one tap and for integers; infinite where a sum may overflow the accumulator.
std::vector<double> average_bounds(const PoolNest& nest, int64_t batch, const void* input);

}  // namespace pooljit::ir
