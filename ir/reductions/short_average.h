// Averages of 8-bit integers in lanes of 16 bits: the sum of a window, divided by a constant, to the nearest
// integer, in two to eight instructions for a whole vector. Floats take five for each half of it, and four to
// widen and to narrow.
#pragma once

#include "ir/reductions/reducer.h"

namespace pooljit::ir {

// Whether averages of the nest's windows can be divided so, if they have as many taps as one of these.
bool divides_in_short_lanes(const PoolNest& nest, const std::vector<int64_t>& taps);

// sum: of windows of the nest, in lanes of twice its input's width. The averages in the low bits of each
// lane, what lies above is any; no_value where divisors are not known, or too large.
Value short_average(const PoolNest& nest, Builder& builder, Value sum, const Divisor& divisor);

}  // namespace pooljit::ir
