// Types of what is no pooling, by libonnx.
#pragma once

#include <onnx/onnx_pb.h>

#include "tools/onnx/graph_walk.h"

namespace pooljit::tools {

// Walks a model. libonnx infers in a child, because it may crash on what a file says: it divides by strides
// of 0. Types on which it crashes or takes too long stay unknown. Errors: those of Walk::run,
// system.process.
ir::Result<OnnxModel> walk_with_inference(const onnx::ModelProto& model, const ModelOptions& options);

}  // namespace pooljit::tools
