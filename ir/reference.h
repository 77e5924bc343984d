// The oracle: evaluates a PoolNest on memory, tap by tap, in the plainest code. It shares no code with
// lowering, so if both agree, neither is likely to be wrong.
//
// It decides more than the semantics ask for: which NaN, which zero, the last bit of an average.
// ir/agreement.h says which other results an engine may return.
#pragma once

#include <cstdint>

#include "ir/nest.h"

namespace pooljit::ir {

// Maximum: the first tap that is greater than all before it; the last NaN, if NaNs propagate. Until a tap is
// greater than the lowest value, the index is that of the first tap in the image; -1 if there is none.
// Average: the exact sum (integers) or one in a longer type (floats), divided once and rounded once.
// Backward: the gradient of each forward output is added to the tap that its index names, or to all of its
// window divided by the window's divisor: in extended precision, rounded once. An epilogue's steps get the
// sum or quotient as the accumulator's type (of integers: as the type that the steps compute in, rounded once
// to float64 before); each operation rounds once. Pointers are to the first element of each view; `indices`
// is null exactly if the nest has none.
void evaluate(const PoolNest& nest, int64_t batch, const void* input, void* output, void* indices,
              Operands operands = {});

}  // namespace pooljit::ir
