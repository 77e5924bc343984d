// The oracle's part for the backward pass (ir/reference.h), and how far engines may be from it.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/error_bounds.h"
#include "ir/nest.h"

namespace pooljit::ir {

void evaluate_backward(const PoolNest& nest, int64_t batch, const void* input, void* output,
                       const void* indices);

// The gradient, and terms * eps * sum|gradients| and what is rounded at the end, at the output's place in the
// output view; eps is that of the sums. Infinite where a sum may overflow.
std::vector<ErrorBound> gradient_bounds(const PoolNest& nest, int64_t batch, const void* input,
                                        const void* indices);

}  // namespace pooljit::ir
