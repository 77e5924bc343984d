// The neutral element of a sum or a product.
#pragma once

#include "ir/nest.h"
#include "ir/reductions/stored.h"

namespace pooljit::ir {

// The bits of such a lane of a state: of sums -0, which keeps the sign of a zero. Not of extremes, whose
// states may be joined with one of their own taps.
inline int64_t neutral_bits(const PoolNest& nest, DType dtype) {
  const bool multiplies = info(nest.reduction).start == Start::one;
  if (!is_float(dtype)) return multiplies ? 1 : 0;
  return float_bits(dtype, multiplies ? 1 : -0.0);
}

}  // namespace pooljit::ir
