// A layer in the words of others, to be run without pooljit: a model of ONNX, a script for PyTorch. Both see
// tensors in logical order.
#pragma once

#include <string>

#include "frontend/pool_spec.h"

namespace pooljit::fuzz {

// The bytes of a model of one node. Errors: "spec.dialect" (ONNX has no words for the layer).
ir::Result<std::string> onnx_model(const frontend::PoolSpec& spec);

// A script that reads inputs.npz and expected.npz beside it, and prints where PyTorch's layer differs; where
// PyTorch has no such layer it says so and prints the arrays. what: the kind of failure, for its comment.
std::string torch_snippet(const frontend::PoolSpec& spec, const std::string& what);

}  // namespace pooljit::fuzz
