// ReduceMean, ReduceMax and the like: their shapes, and which of them are global pools by another name.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>

#include "tools/onnx/pool_draft.h"
#include "tools/onnx/scope.h"

namespace pooljit::tools {

// Whether the node is a reduction of ONNX's along axes.
bool is_reduction(const onnx::NodeProto& node);

// The type of its output, as far as the axes are known.
onnx::TypeProto reduced_type(const onnx::NodeProto& node, const Scope& scope);

// Where it reduces all spatial dims, two or more, of a tensor (N, C, spatial...) or (N, spatial..., C).
std::optional<PoolDraft> global_pool(const onnx::NodeProto& node, const Scope& scope);

// Whether its output lacks the dims that are reduced.
bool drops_dims(const onnx::NodeProto& node);

}  // namespace pooljit::tools
