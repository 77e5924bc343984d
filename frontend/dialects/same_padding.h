// The padding that gives ceil(input / stride) outputs: ONNX's SAME_UPPER and SAME_LOWER, Keras's "same".
#pragma once

#include "frontend/values.h"

namespace pooljit::frontend {

enum class OddPad : uint8_t { end, begin };  // where the odd one of the total goes

// Leaves a dim with numbers that make no sense to check_spec. The error is spec.free_dim: the padding at the
// begin of a free dim would depend on its size. One at the end does not matter: the last window takes what it
// needs of it.
Broken pad_same(SpecDim& dim, OddPad odd);

}  // namespace pooljit::frontend
