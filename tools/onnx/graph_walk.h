// The nodes of a model in order, into bodies and functions: shapes are known when a node is reached, by our
// rules for pooling and by another's for the rest.
#pragma once

#include <onnx/onnx_pb.h>

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/onnx/model.h"
#include "tools/onnx/pool_draft.h"
#include "tools/onnx/qdq.h"
#include "tools/onnx/scope.h"

namespace pooljit::tools {

// Of the outputs of a node, one for each; one without a value is not known, and `why` says why.
struct InferredTypes {
  std::vector<onnx::TypeProto> types;
  std::string why;
};
// Asked for each node that is no pooling, in an order that depends on the model alone.
using InferTypes = std::function<InferredTypes(const onnx::NodeProto&, Scope&)>;

class Walk {
 public:
  Walk(const onnx::ModelProto& model, const ModelOptions& options, const InferTypes& infer);

  // Once. Errors: onnx.model for names or references that make no sense, onnx.size, onnx.output_shape where
  // nothing takes that of the options.
  ir::Result<OnnxModel> run();

 private:
  using Tensors = std::vector<GraphTensor>;

  // In the model's order. What the body of a loop added is taken back before it is walked again.
  struct Found {
    std::vector<PoolNode> nodes;
    std::vector<OnnxModel::Concat> concats;
    std::vector<std::string> warnings;
    Quantizations quantizations;
  };
  struct Mark {
    size_t nodes, concats, warnings;
    Quantizations::Mark quantizations;
  };
  Mark mark() const;
  void take_back(const Mark& mark);

  // graph_walk.cpp
  Tensors walk_graph(const onnx::GraphProto& graph, const std::vector<onnx::TypeProto>& inputs, Scope& scope);
  void visit(const onnx::NodeProto& written, Scope& scope);
  Tensors results_of(const onnx::NodeProto& node, Scope& scope);
  Tensors pool(const onnx::NodeProto& node, Scope& scope, const ir::Result<PoolDraft>& draft,
               const std::string& note);
  Tensors other(const onnx::NodeProto& node, Scope& scope);
  void settle(const std::string& name, GraphTensor tensor, Scope& scope, std::string_view by);
  void note_concat(const onnx::NodeProto& node, const Scope& scope);
  const onnx::NodeProto* with_arguments(const onnx::NodeProto& node, const Scope& scope);
  void refuse(ir::Error error);

  // bodies.cpp: what If, Loop, Scan, other nodes with graphs and calls of functions make.
  std::optional<Tensors> from_bodies(const onnx::NodeProto& node, Scope& scope);
  Tensors branch(const onnx::NodeProto& node, Scope& scope);
  Tensors loop(const onnx::NodeProto& node, Scope& scope);
  Tensors scan(const onnx::NodeProto& node, Scope& scope);
  Tensors call(const onnx::FunctionProto& function, const onnx::NodeProto& node, Scope& scope);
  // The inputs of a loop's body that are its outputs one step before.
  struct Carried {
    size_t input, output, count;  // the first of each, and how many
  };
  Tensors repeat(const onnx::GraphProto& body, const std::string& path, Scope& scope, Carried carried,
                 std::vector<onnx::TypeProto>& inputs);
  Tensors walk_body(const onnx::GraphProto& body, const std::string& path, Scope& scope,
                    const std::vector<onnx::TypeProto>& inputs);

  const onnx::ModelProto& model_;
  const ModelOptions& options_;
  const InferTypes& infer_;
  Opsets opsets_;
  std::map<std::string, const onnx::FunctionProto*> functions_;
  std::map<const onnx::FunctionProto*, Opsets> function_opsets_;
  std::string open_dims_;                    // what --dim can say, for hints
  std::deque<onnx::TensorProto> constants_;  // of Constant nodes that hold a list
  std::deque<onnx::NodeProto> resolved_;     // nodes of functions, with what a call gives
  Found found_;
  std::optional<ir::Error> refused_;
  bool took_output_shape_ = false;
  int64_t visits_ = 0;
  int depth_ = 0;
};

}  // namespace pooljit::tools
