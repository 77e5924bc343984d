#include "tools/onnx/model.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <charconv>
#include <fstream>
#include <set>

#include "tools/onnx/inference.h"
#include "tools/onnx/types.h"
#include "tools/regular_file.h"

namespace pooljit::tools {
namespace {

template <typename Message>
ir::Result<Message> read_message(const std::string& path, const char* what) {
  if (auto regular = check_regular_file(path); !regular) return tl::unexpected(regular.error());
  std::ifstream file(path, std::ios::binary);
  if (!file) return ir::system_error("onnx.file", fmt::format("cannot read {}", path));
  Message message;
  if (!message.ParseFromIstream(&file))
    return ir::invalid("onnx.model", fmt::format("{} is no ONNX {}", path, what));
  return message;
}

// That nothing is missing which a file that was cut off would lack.
ir::Result<void> check_whole(const onnx::ModelProto& model, const std::string& path) {
  const auto lacks = [&](const char* what) {
    return ir::invalid("onnx.model", fmt::format("{} has no {}", path, what),
                       "it is empty, or a part of a model");
  };
  constexpr int64_t first_with_opsets = 3;  // version of the format
  if (!model.has_graph()) return lacks("graph");
  if (!model.has_ir_version()) return lacks("ir_version");
  if (model.ir_version() >= first_with_opsets && model.opset_import_size() == 0) return lacks("opset_import");
  return {};
}

// Of the graph's inputs.
ir::Result<void> set_dims(onnx::GraphProto& graph, const SymbolicDims& dims) {
  std::set<std::string> names;
  for (onnx::ValueInfoProto& input : *graph.mutable_input()) {
    if (!input.type().tensor_type().has_shape()) continue;
    for (auto& dim : *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      if (!dim.has_dim_param()) continue;
      const std::string name = dim.dim_param();
      names.insert(name);
      if (const auto known = dims.find(name); known != dims.end()) dim.set_dim_value(known->second);
    }
  }
  for (const auto& [name, extent] : dims)
    if (!names.contains(name))
      return ir::invalid("onnx.dim", fmt::format("no input of the model has a dim {}", name),
                         names.empty() ? "all its dims are numbers"
                                       : fmt::format("its symbolic dims are {}", fmt::join(names, ", ")));
  return {};
}

}  // namespace

ir::Result<SymbolicDims> parse_dims(const std::vector<std::string>& texts) {
  SymbolicDims dims;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    int64_t value = 0;
    const char* const end = text.data() + text.size();
    if (equals == std::string::npos || std::from_chars(text.data() + equals + 1, end, value).ptr != end ||
        value < 1)
      return ir::invalid("onnx.dim", fmt::format("--dim {}", text), "NAME=EXTENT, for example batch=8");
    dims[text.substr(0, equals)] = value;
  }
  return dims;
}

ir::Result<PoolNode> find_node(const OnnxModel& model, const std::string& name) {
  std::vector<std::string> names;
  for (const PoolNode& node : model.nodes) {
    names.push_back(node.name);
    if (node.name != name && !(name.empty() && model.nodes.size() == 1)) continue;
    if (node.spec) return node;
    ir::Error error = node.spec.error();
    error.message = fmt::format("{}: {}", node.name, error.message);
    return tl::unexpected(std::move(error));
  }
  return ir::invalid("onnx.node",
                     name.empty() ? fmt::format("the model has {} pooling nodes", names.size())
                                  : fmt::format("no pooling node is called {}", name),
                     names.empty() ? "" : fmt::format("--node is one of {}", fmt::join(names, ", ")));
}

ir::Result<OnnxModel> read_model(const std::string& path, const ModelOptions& options) {
  auto model = read_message<onnx::ModelProto>(path, "model");
  if (!model) return tl::unexpected(model.error());
  if (auto whole = check_whole(*model, path); !whole) return tl::unexpected(whole.error());
  if (auto done = set_dims(*model->mutable_graph(), options.dims); !done) return tl::unexpected(done.error());
  if (model->opset_import_size() == 0) model->add_opset_import()->set_version(1);
  return walk_with_inference(*model, options);
}

ir::Result<OnnxTensor> read_tensor(const std::string& path) {
  const auto proto = read_message<onnx::TensorProto>(path, "tensor");
  if (!proto) return tl::unexpected(proto.error());
  size_t bytes = element_bytes(proto->data_type());
  if (bytes == 0)
    return ir::unsupported("onnx.tensor",
                           fmt::format("{} has elements of {}", path, element_name(proto->data_type())));
  OnnxTensor tensor{std::string(dtype_of(proto->data_type())),
                    {proto->dims().begin(), proto->dims().end()},
                    proto->raw_data()};
  const auto take = [&](const auto& values) {
    if (tensor.bytes.empty() && !values.empty())
      tensor.bytes.assign(reinterpret_cast<const char*>(values.data()),
                          static_cast<size_t>(values.size()) * sizeof(*values.data()));
  };
  take(proto->float_data());
  take(proto->double_data());
  take(proto->int64_data());
  for (int64_t extent : tensor.shape) bytes *= static_cast<size_t>(extent);
  if (tensor.bytes.size() != bytes)
    return ir::unsupported("onnx.tensor", fmt::format("{} has no raw data of its shape", path),
                           "write it with numpy_helper.from_array()");
  return tensor;
}

}  // namespace pooljit::tools
