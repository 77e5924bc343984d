#include "tools/onnx/model.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "runtime/child.h"
#include "tools/regular_file.h"

namespace pooljit::tools {

namespace {

constexpr std::string_view pooling_ops[] = {
    "MaxPool",       "AveragePool",        "LpPool",
    "GlobalMaxPool", "GlobalAveragePool",  "GlobalLpPool",
    "MaxUnpool",     "QLinearAveragePool", "QLinearGlobalAveragePool",
};

struct ElementType {
  int32_t onnx;
  std::string_view name;
  size_t bytes;
};
constexpr ElementType element_types[] = {
    {onnx::TensorProto::FLOAT, "float32", 4},   {onnx::TensorProto::DOUBLE, "float64", 8},
    {onnx::TensorProto::FLOAT16, "float16", 2}, {onnx::TensorProto::BFLOAT16, "bfloat16", 2},
    {onnx::TensorProto::UINT8, "uint8", 1},     {onnx::TensorProto::INT8, "int8", 1},
    {onnx::TensorProto::INT16, "int16", 2},     {onnx::TensorProto::INT32, "int32", 4},
    {onnx::TensorProto::INT64, "int64", 8},
};
const ElementType* find_type(int32_t type) {
  const auto row = std::find_if(std::begin(element_types), std::end(element_types),
                                [&](const ElementType& element) { return element.onnx == type; });
  return row == std::end(element_types) ? nullptr : row;
}

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

using Types = std::map<std::string, onnx::TypeProto>;

// Of all tensors whose type the graph tells.
Types types_of(const onnx::GraphProto& graph) {
  Types types;
  for (const auto* infos : {&graph.input(), &graph.output(), &graph.value_info()})
    for (const onnx::ValueInfoProto& info : *infos) types[info.name()] = info.type();
  return types;
}

// Names of the inputs' symbolic dims that are still open, but for the first dim of an input: the batch.
std::vector<std::string> open_dims(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    const auto& dims = input.type().tensor_type().shape().dim();
    for (int i = 1; i < dims.size(); ++i)
      if (dims[i].has_dim_param() &&
          std::find(names.begin(), names.end(), dims[i].dim_param()) == names.end())
        names.push_back(dims[i].dim_param());
  }
  return names;
}

// Why a dim is not known, in terms of what --dim takes.
std::string open_dim(const onnx::GraphProto& graph, size_t number, const std::string& name) {
  const std::vector<std::string> names = open_dims(graph);
  std::string text = fmt::format("dim {} of {} is not known", number, name);
  if (!names.empty()) text += fmt::format(": give --dim {}=EXTENT", fmt::join(names, "=EXTENT --dim "));
  return text;
}

// "float32[1,3,8,8]", the first dim N where it is not known; or in `problem` why not.
std::string tensor_text(const onnx::GraphProto& graph, const Types& types, const std::string& name,
                        std::string& problem) {
  const auto found = types.find(name);
  const ElementType* element =
      found == types.end() ? nullptr : find_type(found->second.tensor_type().elem_type());
  if (element == nullptr) {
    problem = fmt::format("the type of {} is not known", name);
    return "";
  }
  std::vector<std::string> dims;
  for (const auto& dim : found->second.tensor_type().shape().dim()) {
    const bool is_known = dim.has_dim_value();
    if (!is_known && !dims.empty() && problem.empty()) problem = open_dim(graph, dims.size(), name);
    dims.push_back(is_known ? std::to_string(dim.dim_value()) : "N");
  }
  return fmt::format("{}[{}]", element->name, fmt::join(dims, ","));
}

std::string attribute_text(const onnx::AttributeProto& attribute) {
  switch (attribute.type()) {
    case onnx::AttributeProto::INT:
      return fmt::format("{}={}", attribute.name(), attribute.i());
    case onnx::AttributeProto::FLOAT:  // p of the first opset
      return fmt::format("{}={}", attribute.name(), attribute.f());
    case onnx::AttributeProto::STRING:
      return fmt::format("{}={}", attribute.name(), attribute.s());
    default:
      return fmt::format("{}=[{}]", attribute.name(), fmt::join(attribute.ints(), ","));
  }
}

// The scales and zero points of a node are inputs that have to be constants.
constexpr std::string_view quantization_inputs[] = {"", "x_scale", "x_zero_point", "y_scale", "y_zero_point"};

std::string scalar_text(const onnx::GraphProto& graph, const std::string& name) {
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (tensor.name() != name) continue;
    const std::string& raw = tensor.raw_data();
    if (tensor.data_type() == onnx::TensorProto::FLOAT) {
      float value = tensor.float_data_size() == 1 ? tensor.float_data(0) : 0;
      if (raw.size() == sizeof(value)) std::memcpy(&value, raw.data(), sizeof(value));
      return fmt::format("{}", value);
    }
    const int32_t value = tensor.int32_data_size() == 1 ? tensor.int32_data(0) : 0;
    if (raw.size() != 1) return fmt::format("{}", value);
    return tensor.data_type() == onnx::TensorProto::INT8 ? fmt::format("{}", static_cast<int8_t>(raw[0]))
                                                         : fmt::format("{}", static_cast<uint8_t>(raw[0]));
  }
  return "";
}

std::string quantization_text(const onnx::GraphProto& graph, PoolNode& node) {
  std::string text;
  for (size_t i = 1; i < std::min(node.inputs.size(), std::size(quantization_inputs)); ++i) {
    if (node.inputs[i].empty()) continue;
    const std::string value = scalar_text(graph, node.inputs[i]);
    if (value.empty()) node.problem = fmt::format("{} is no constant of the model", node.inputs[i]);
    text += fmt::format(", {}={}", quantization_inputs[i], value);
  }
  return text;
}

// The name of a node, or else of its first output.
std::string name_of(const onnx::NodeProto& proto) {
  return proto.name().empty() && proto.output_size() > 0 ? proto.output(0) : proto.name();
}

PoolNode pool_node(const onnx::GraphProto& graph, const onnx::NodeProto& proto, const Types& types,
                   int64_t opset) {
  PoolNode node;
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  node.name = name_of(proto);
  if (node.inputs.empty()) {
    node.problem = "it has no input";
    return node;
  }
  node.text =
      fmt::format("onnx.{}({}", proto.op_type(), tensor_text(graph, types, node.inputs[0], node.problem));
  for (const onnx::AttributeProto& attribute : proto.attribute())
    node.text += ", " + attribute_text(attribute);
  if (proto.op_type() == "MaxPool" && node.outputs.size() > 1 && !node.outputs[1].empty())
    node.text += ", return_indices=1";
  if (proto.op_type().starts_with("QLinear")) node.text += quantization_text(graph, node);
  node.text += fmt::format(", opset={})", opset);
  return node;
}

std::optional<OnnxModel::Concat> concat_of(const onnx::NodeProto& proto, const Types& types) {
  if (proto.op_type() != "Concat" || proto.input_size() == 0) return std::nullopt;
  const auto type = types.find(proto.input(0));
  for (const onnx::AttributeProto& attribute : proto.attribute()) {
    if (attribute.name() != "axis") continue;
    const int rank = type == types.end() ? 0 : type->second.tensor_type().shape().dim_size();
    if (attribute.i() == 1 || attribute.i() + rank == 1)
      return OnnxModel::Concat{name_of(proto), {proto.input().begin(), proto.input().end()}};
  }
  return std::nullopt;
}

// Of the graph's inputs, before shapes are inferred.
ir::Result<void> set_dims(onnx::GraphProto& graph, const SymbolicDims& dims) {
  std::set<std::string> names;
  for (onnx::ValueInfoProto& input : *graph.mutable_input())
    for (auto& dim : *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      if (!dim.has_dim_param()) continue;
      const std::string name = dim.dim_param();
      names.insert(name);
      if (const auto known = dims.find(name); known != dims.end()) dim.set_dim_value(known->second);
    }
  for (const auto& [name, extent] : dims)
    if (!names.contains(name))
      return ir::invalid("onnx.dim", fmt::format("no input of the model has a dim {}", name),
                         names.empty() ? "all its dims are numbers"
                                       : fmt::format("its symbolic dims are {}", fmt::join(names, ", ")));
  return {};
}

// ONNX's own inference, on whatever the file says: it divides by strides of 0. In a child, then, which hands
// back the types that it found.
ir::Result<void> infer_shapes(onnx::ModelProto& model, const std::string& path) {
  constexpr double longest_seconds = 60;
  constexpr char found = '+', refused = '-';
  const auto infer = [&]() -> std::string {
    try {
      onnx::shape_inference::InferShapes(model);
    } catch (const std::exception& error) {
      return refused + std::string(error.what());
    }
    onnx::GraphProto types;
    *types.mutable_output() = model.graph().output();
    *types.mutable_value_info() = model.graph().value_info();
    return found + types.SerializeAsString();
  };
  const auto end = runtime::run_in_child(infer, longest_seconds);
  if (!end) return tl::unexpected(end.error());
  const auto fail = [&](const std::string& why) {
    return ir::invalid("onnx.model", fmt::format("{}: {}", path, why),
                       "onnx.checker.check_model() may say more");
  };
  if (end->timed_out)
    return fail(fmt::format("ONNX's shape inference takes more than {} s", longest_seconds));
  if (end->signal != 0)
    return fail(fmt::format("ONNX's shape inference crashes on it ({})", ::strsignal(end->signal)));
  onnx::GraphProto types;
  if (end->said.starts_with(refused)) return fail(end->said.substr(1));
  if (!end->said.starts_with(found) || !types.ParseFromString(end->said.substr(1)))
    return fail("ONNX's shape inference gives up");
  model.mutable_graph()->mutable_output()->Swap(types.mutable_output());
  model.mutable_graph()->mutable_value_info()->Swap(types.mutable_value_info());
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
    if (!node.problem.empty())
      return ir::invalid("onnx.node", fmt::format("{}: {}", node.name, node.problem));
    return node;
  }
  return ir::invalid("onnx.node",
                     name.empty() ? fmt::format("the model has {} pooling nodes", names.size())
                                  : fmt::format("no pooling node is called {}", name),
                     names.empty() ? "" : fmt::format("--node is one of {}", fmt::join(names, ", ")));
}

ir::Result<OnnxModel> read_model(const std::string& path, const SymbolicDims& dims) {
  auto proto = read_message<onnx::ModelProto>(path, "model");
  if (!proto) return tl::unexpected(proto.error());
  if (auto done = set_dims(*proto->mutable_graph(), dims); !done) return tl::unexpected(done.error());
  if (auto done = infer_shapes(*proto, path); !done) return tl::unexpected(done.error());
  int64_t opset = 1;
  for (const auto& import : proto->opset_import())
    if (import.domain().empty() || import.domain() == "ai.onnx") opset = import.version();
  OnnxModel model;
  const Types types = types_of(proto->graph());
  for (const onnx::NodeProto& node : proto->graph().node()) {
    if (std::find(std::begin(pooling_ops), std::end(pooling_ops), node.op_type()) != std::end(pooling_ops))
      model.nodes.push_back(pool_node(proto->graph(), node, types, opset));
    if (auto concat = concat_of(node, types)) model.concats.push_back(std::move(*concat));
  }
  for (const auto& info : proto->graph().input()) model.inputs.push_back(info.name());
  for (const auto& info : proto->graph().output()) model.outputs.push_back(info.name());
  return model;
}

ir::Result<OnnxTensor> read_tensor(const std::string& path) {
  const auto proto = read_message<onnx::TensorProto>(path, "tensor");
  if (!proto) return tl::unexpected(proto.error());
  const ElementType* element = find_type(proto->data_type());
  if (element == nullptr)
    return ir::unsupported("onnx.tensor",
                           fmt::format("{} has elements of type {}", path, proto->data_type()));
  OnnxTensor tensor{
      std::string(element->name), {proto->dims().begin(), proto->dims().end()}, proto->raw_data()};
  const auto take = [&](const auto& values) {
    if (tensor.bytes.empty() && !values.empty())
      tensor.bytes.assign(reinterpret_cast<const char*>(values.data()),
                          static_cast<size_t>(values.size()) * sizeof(*values.data()));
  };
  take(proto->float_data());
  take(proto->double_data());
  take(proto->int64_data());
  size_t bytes = element->bytes;
  for (int64_t extent : tensor.shape) bytes *= static_cast<size_t>(extent);
  if (tensor.bytes.size() != bytes)
    return ir::unsupported("onnx.tensor", fmt::format("{} has no raw data of its shape", path),
                           "write it with numpy_helper.from_array()");
  return tensor;
}

}  // namespace pooljit::tools
