// A model of ONNX that is one node, as the bytes of its file: made by hand, because libonnx is not always
// there and an engine that is handed a layer should need nothing for it. Needs nothing of pooljit's either.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pooljit::tools {

struct NodeTensor {
  std::string name, dtype;  // dtype: "float32" ..., as in specs
  std::vector<int64_t> dims;
};

using NodeAttribute = std::variant<int64_t, float, std::string, std::vector<int64_t>>;

struct NodeModel {
  std::string op_type;      // "MaxPool"
  std::string domain = {};  // empty: ONNX's own
  int64_t opset = 22;       // of that domain
  std::vector<std::pair<std::string, NodeAttribute>> attributes = {};
  std::vector<NodeTensor> inputs = {}, outputs = {};
};

// ONNX's number of a dtype: TensorProto.DataType. 0: it has none.
int onnx_type(std::string_view dtype);

// A serialized ModelProto.
std::string model_bytes(const NodeModel& model);

}  // namespace pooljit::tools
