// ONNX files: the pooling nodes of a model as specs, and tensors as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/error.h"

namespace pooljit::tools {

struct PoolNode {
  // Of the node; else of its first output. In a body or a function behind its path: "if/then_branch/pool".
  // Nodes of one name have numbers: "pool#2".
  std::string name;
  ir::Result<std::string> spec;              // canonical; or why there is none
  std::string note;                          // "ReduceMean"; the nodes around it that the spec stands for too
  std::string graph;                         // the path of the graph that it is in
  std::vector<std::string> inputs, outputs;  // tensors, by names that are unique in the model
};

struct OnnxModel {
  // Along the channels.
  struct Concat {
    std::string name;  // of the node; else of its output
    std::vector<std::string> inputs;
  };
  std::vector<PoolNode> nodes;  // in the model's order
  std::vector<Concat> concats;
  std::vector<std::string> warnings;  // where a shape that the model declares is not what its opset says
};

// What the model's symbolic dims ("batch") are.
using SymbolicDims = std::map<std::string, int64_t>;

// Whether ceil_mode keeps a last window that begins in the padding: runtime drops it in every opset, as what
// runs ONNX elsewhere does; letter keeps it below opset 22, as ONNX's text says.
enum class CeilChoice : uint8_t { runtime, letter };

struct ModelOptions {
  SymbolicDims dims = {};
  CeilChoice ceil = CeilChoice::runtime;
  std::vector<int64_t> output_shape = {};  // of a MaxUnpool that takes it from an input of the model
};

// Of "batch=8" and the like. Errors: onnx.dim.
ir::Result<SymbolicDims> parse_dims(const std::vector<std::string>& texts);

// Nodes in graphs, bodies of If, Loop and Scan and model-local functions. Shapes of pooling nodes are by the
// rules of the opset that the model declares, those of others as ONNX infers them. A batch that is not known
// is N, spatial dims are their letters, said at each run. A node without a spec has an error of its own:
// onnx.graph, onnx.shape, onnx.dtype, onnx.attribute, onnx.constant, onnx.operator, or that of its spec.
// Errors of the model: onnx.file, onnx.model; onnx.dim for a name that no input of the model has.
ir::Result<OnnxModel> read_model(const std::string& path, const ModelOptions& options = {});

// The node of that name, or without a name the only one; it has a spec. Errors: onnx.node, or the node's own.
ir::Result<PoolNode> find_node(const OnnxModel& model, const std::string& name);

struct OnnxTensor {
  std::string dtype;  // "float32"
  std::vector<int64_t> shape;
  std::string bytes;
};

// Of a file that holds one TensorProto. Errors: onnx.file, onnx.tensor.
ir::Result<OnnxTensor> read_tensor(const std::string& path);

}  // namespace pooljit::tools
