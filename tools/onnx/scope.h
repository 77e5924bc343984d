// The tensors that the nodes of one graph may name, while a model is walked.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <unordered_map>

#include "tools/onnx/types.h"

namespace pooljit::tools {

struct GraphTensor {
  std::string id = {};  // its name behind the path of the graph that makes it: the model's only one
  onnx::TypeProto type = {};
  const onnx::TensorProto* constant = nullptr;
  std::string why = {};   // the type, or a dim, is not known
  bool is_input = false;  // of the model: a run tells the value
};

// Operator sets by domain; ONNX's own is "".
using Opsets = std::map<std::string, int64_t>;
using Attributes = std::map<std::string, const onnx::AttributeProto*>;

class Scope {
 public:
  // A graph around this one, whose tensors are seen too: bodies of If, Loop and Scan have one. `path` is put
  // before the names of nodes: "if/then_branch/".
  Scope(const Scope* outer, std::string path, const Opsets& opsets)
      : path(std::move(path)), opsets(opsets), outer_(outer) {}

  // nullptr: nothing before made it.
  const GraphTensor* find(const std::string& name) const;
  // False, and nothing done, where the graph has a tensor of that name.
  bool define(const std::string& name, GraphTensor tensor);

  // 0: the model names no version.
  int64_t opset(const std::string& domain) const;

  const std::string path;
  const Opsets& opsets;
  Types declared;                         // what the graph says of the tensors in it
  const Attributes* arguments = nullptr;  // of the call whose body this is
  std::unordered_map<std::string, onnx::TensorShapeProto> shape_data;  // what ONNX's inference found

 private:
  const Scope* outer_;
  std::map<std::string, GraphTensor> tensors_;
};

// "" for ONNX's own domain, which has two names.
std::string domain_of(const std::string& domain);

// A node's name, or else that of its first output.
std::string name_of(const onnx::NodeProto& node);

}  // namespace pooljit::tools
