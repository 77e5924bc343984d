// The oracle's part for the backward pass (ir/reference.h), and how far engines may be from it.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/error_bounds.h"
#include "ir/nest.h"

namespace pooljit::ir {

// Inputs beside the gradient: the indices of a maximum, or the operands of a norm's gradient.
struct ReadBeside {
  const void* indices = nullptr;
  Operands operands = {};
};

void evaluate_backward(const PoolNest& nest, int64_t batch, const void* input, void* output,
                       const ReadBeside& beside);

// The gradient, and terms * eps * sum|gradients| and what is rounded at the end, at the output's place in the
// output view; eps is that of the sums. Of a norm the terms are g / y^(p-1), off by (p + 4) * eps of
// themselves as each power is. Infinite where a sum may overflow, or a power leaves the normal range.
std::vector<ErrorBound> gradient_bounds(const PoolNest& nest, int64_t batch, const void* input,
                                        const ReadBeside& beside);

}  // namespace pooljit::ir
