// ONNX files: the pooling nodes of a model as texts of the dialect onnx, and tensors as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/error.h"

namespace pooljit::tools {

struct PoolNode {
  std::string name;                          // of the node; else of its first output
  std::string text;                          // onnx.MaxPool(float32[...], ...)
  std::string problem;                       // why there is no text: a shape that only a run would tell
  std::vector<std::string> inputs, outputs;  // names of tensors
};

struct OnnxModel {
  // Along the channels.
  struct Concat {
    std::string name;  // of the node; else of its output
    std::vector<std::string> inputs;
  };
  std::vector<PoolNode> nodes;  // in the model's order
  std::vector<Concat> concats;
  std::vector<std::string> inputs, outputs;  // of the graph
};

// What the model's symbolic dims ("batch") are.
using SymbolicDims = std::map<std::string, int64_t>;

// Of "batch=8" and the like. Errors: onnx.dim.
ir::Result<SymbolicDims> parse_dims(const std::vector<std::string>& texts);

// With the shapes that ONNX infers. A first dim that is not known is N, said at each run. Errors: onnx.file,
// onnx.model; onnx.dim for a name that no input of the model has.
ir::Result<OnnxModel> read_model(const std::string& path, const SymbolicDims& dims = {});

// The node of that name, or without a name the only one; its text is there. Errors: onnx.node.
ir::Result<PoolNode> find_node(const OnnxModel& model, const std::string& name);

struct OnnxTensor {
  std::string dtype;  // "float32"
  std::vector<int64_t> shape;
  std::string bytes;
};

// Of a file that holds one TensorProto. Errors: onnx.file, onnx.tensor.
ir::Result<OnnxTensor> read_tensor(const std::string& path);

}  // namespace pooljit::tools
