// How far an engine's result may be from the oracle's (ir/reference.h), for results that are computed from
// floats, or as floats.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/nest.h"

namespace pooljit::ir {

// The result in extended precision, before it is converted to the output's dtype, and how far an engine's may
// be from it.
struct ErrorBound {
  double value = 0, error = 0;
};

// Of each output, at its place in the output view. With p = 1 for averages and sums:
//   the sum of |x|^p is off by (taps - 1 + p + 4) * eps * sum |x|^p (taps - 1 where p = 1); what that does to
//   the p-th root or the quotient, and the roundings of that and of the conversion, is the error.
// eps is the accumulator's: the input's for p = 1 and 2, float64's for other p. No error for at most one tap
// of an average or sum, for maxima and minima, and for integers that stay integers; infinite where a sum may
// overflow.
// After the steps of an epilogue, if there is one: of the value that they make, each rounding counted.
std::vector<ErrorBound> error_bounds(const PoolNest& nest, int64_t batch, const void* input,
                                     Operands operands = {});

}  // namespace pooljit::ir
