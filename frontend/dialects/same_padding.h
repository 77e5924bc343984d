// The padding that gives ceil(input / stride) outputs: ONNX's SAME_UPPER and SAME_LOWER, Keras's "same".
#pragma once

#include "frontend/pool_spec.h"

namespace pooljit::frontend {

enum class OddPad : uint8_t { end, begin };  // where the odd one of the total goes

// Leaves a dim with numbers that make no sense to check_spec.
void pad_same(SpecDim& dim, OddPad odd);

}  // namespace pooljit::frontend
