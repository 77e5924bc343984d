// Small constants of a model as numbers: scales, zero points, axes, shapes.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace pooljit::tools {

// Of a tensor of int32 or int64 with at most as many elements as a shape can have; none for others.
std::optional<std::vector<int64_t>> integers_of(const onnx::TensorProto& tensor);

// Of a tensor with one element: of float32, or of an integer. None for others.
std::optional<double> number_of(const onnx::TensorProto& tensor);

// The value of a Constant node, which lies in the node or is put behind `made`; nullptr if it is no number or
// list of numbers.
const onnx::TensorProto* value_of(const onnx::NodeProto& constant, std::deque<onnx::TensorProto>& made);

}  // namespace pooljit::tools
