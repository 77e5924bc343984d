// A pooling node in the words of the dialect onnx, from which its spec is made.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <string_view>
#include <vector>

#include "frontend/pool_spec.h"
#include "tools/onnx/model.h"
#include "tools/onnx/scope.h"

namespace pooljit::tools {

struct PoolDraft {
  std::string op = {};                 // "onnx.MaxPool", of the dialect, or one of pooljit's own
  std::string dtype = {};              // "float32"
  std::vector<std::string> dims = {};  // "N" or a number, channels, extents or their letters
  std::string attributes = {};         // ", kernel_shape=[2,2]"
  bool is_nhwc = false;                // the tensor lies so
  int64_t opset = 0;                   // 0: the operator is not of ONNX's own set
  CeilChoice ceil = CeilChoice::runtime;
  bool takes_output_shape = false;  // that of the options
};

// How a pooling operator is written in the dialect.
struct NodeOperator {
  std::string_view domain, name;
  std::string_view dialect;  // empty: pooljit has no such operator
  bool is_nhwc = false;
};

// nullptr: no pooling. An operator of the same name in a domain that is not known is one that pooljit has
// not.
const NodeOperator* find_operator(const onnx::NodeProto& node);

// `open_dims`: the hint where a dim is not known. Errors: as read_model says of nodes.
ir::Result<PoolDraft> draft_of(const NodeOperator& op, const onnx::NodeProto& node, const Scope& scope,
                               const ModelOptions& options, const std::string& open_dims);

// The tensor of a draft: its dtype and dims. Errors: onnx.graph, onnx.shape, onnx.dtype.
ir::Result<void> read_input(const std::string& name, const Scope& scope, const std::string& open_dims,
                            PoolDraft& draft);

ir::Result<frontend::PoolSpec> spec_of(const PoolDraft& draft);

// Of the output, dims as the node has them; -1 of what is not known: the batch if it is N, and what follows
// from free dims.
std::vector<int64_t> output_dims(const frontend::PoolSpec& spec, bool is_nhwc);

}  // namespace pooljit::tools
