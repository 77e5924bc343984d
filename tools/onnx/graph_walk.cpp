#include "tools/onnx/graph_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "tools/onnx/constants.h"
#include "tools/onnx/later_fields.h"
#include "tools/onnx/reduce.h"

namespace pooljit::tools {
namespace {

constexpr int64_t most_visits = 1 << 18;  // functions that call each other twice grow without end
constexpr int deepest = 64;

// Symbolic dims of the inputs that are still open, but for the first of each, which is the batch.
std::string open_dims(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    const auto& dims = input.type().tensor_type().shape().dim();
    for (int i = 1; i < dims.size(); ++i)
      if (dims[i].has_dim_param() && std::ranges::find(names, dims[i].dim_param()) == names.end())
        names.push_back(dims[i].dim_param());
  }
  return names.empty() ? "" : fmt::format("give --dim {}=EXTENT", fmt::join(names, "=EXTENT --dim "));
}

// Nodes of one name get numbers; also those whose name is then taken.
void tell_apart(std::vector<PoolNode>& nodes) {
  std::map<std::string, int> counts;
  std::unordered_set<std::string> taken;
  for (const PoolNode& node : nodes)
    if (++counts[node.name] == 1) taken.insert(node.name);
  std::map<std::string, int> numbers;
  for (PoolNode& node : nodes) {
    if (counts[node.name] == 1) continue;
    int& number = numbers[node.name];
    std::string name;
    do name = fmt::format("{}#{}", node.name, ++number);
    while (!taken.insert(name).second);
    node.name = name;
  }
}

}  // namespace

Walk::Walk(const onnx::ModelProto& model, const ModelOptions& options, const InferTypes& infer)
    : model_(model), options_(options), infer_(infer), open_dims_(open_dims(model.graph())) {
  for (const auto& import : model.opset_import()) opsets_[domain_of(import.domain())] = import.version();
  for (const onnx::FunctionProto& function : model.functions()) {
    functions_.emplace(function_key(function), &function);
    for (const auto& import : function.opset_import())
      function_opsets_[&function][domain_of(import.domain())] = import.version();
  }
}

ir::Result<OnnxModel> Walk::run() {
  Scope scope(nullptr, "", opsets_);
  walk_graph(model_.graph(), {}, scope);
  for (const onnx::ValueInfoProto& output : model_.graph().output())
    found_.quantizations.note_use(scope, output.name());
  if (refused_) return tl::unexpected(*refused_);
  if (!options_.output_shape.empty() && !took_output_shape_)
    return ir::invalid("onnx.output_shape", "no MaxUnpool takes its output_shape from an input of the model",
                       "leave out --output-shape");
  found_.quantizations.fuse(found_.nodes);
  tell_apart(found_.nodes);
  return OnnxModel{std::move(found_.nodes), std::move(found_.concats), std::move(found_.warnings)};
}

void Walk::refuse(ir::Error error) {
  if (!refused_) refused_ = std::move(error);
}

Walk::Mark Walk::mark() const {
  return {found_.nodes.size(), found_.concats.size(), found_.warnings.size(), found_.quantizations.mark()};
}

void Walk::take_back(const Mark& mark) {
  found_.nodes.resize(mark.nodes);
  found_.concats.resize(mark.concats);
  found_.warnings.resize(mark.warnings);
  found_.quantizations.take_back(mark.quantizations);
}

// `inputs`: what is known of the graph's inputs from outside; the model's own have none.
Walk::Tensors Walk::walk_graph(const onnx::GraphProto& graph, const std::vector<onnx::TypeProto>& inputs,
                               Scope& scope) {
  for (const auto* infos : {&graph.value_info(), &graph.output()})
    for (const onnx::ValueInfoProto& info : *infos) fill(scope.declared[info.name()], info.type());
  std::set<std::string> initialized;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    const std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
    if (initialized.insert(tensor.name()).second)
      scope.define(tensor.name(), {.type = tensor_type(tensor.data_type(), dims), .constant = &tensor});
  }
  for (int i = 0; i < graph.input_size(); ++i) {
    const onnx::ValueInfoProto& input = graph.input(i);
    if (initialized.contains(input.name())) continue;
    GraphTensor tensor{.is_input = &graph == &model_.graph()};
    if (static_cast<size_t>(i) < inputs.size()) tensor.type = inputs[static_cast<size_t>(i)];
    if (!contradict(tensor.type, input.type())) fill(tensor.type, input.type());
    if (!is_known(tensor.type)) tensor.why = fmt::format("it is an input of {}", graph.name());
    if (!scope.define(input.name(), std::move(tensor)))
      refuse(
          {ir::ErrorKind::invalid, "onnx.model", fmt::format("two tensors are called {}", input.name()), ""});
  }
  for (const onnx::NodeProto& node : graph.node()) {
    if (refused_) return {};
    visit(node, scope);
  }
  Tensors outputs;
  for (const onnx::ValueInfoProto& output : graph.output()) {
    const GraphTensor* const tensor = scope.find(output.name());
    outputs.push_back(tensor == nullptr ? GraphTensor{} : *tensor);
  }
  return outputs;
}

void Walk::visit(const onnx::NodeProto& written, Scope& scope) {
  if (++visits_ > most_visits || depth_ > deepest)
    return refuse({ir::ErrorKind::unsupported, "onnx.size",
                   fmt::format("the model has more than {} nodes, its functions expanded, or they are nested "
                               "deeper than {}",
                               most_visits, deepest),
                   ""});
  const onnx::NodeProto* const node = with_arguments(written, scope);
  if (node == nullptr) return;
  ++depth_;
  Tensors results = results_of(*node, scope);
  --depth_;
  if (refused_) return;
  results.resize(static_cast<size_t>(node->output_size()));
  const bool is_pool = find_operator(*node) != nullptr;
  for (int i = 0; i < node->output_size(); ++i)
    settle(node->output(i), std::move(results[static_cast<size_t>(i)]), scope,
           is_pool ? "by its opset" : "as ONNX infers it");
  note_concat(*node, scope);
  found_.quantizations.note(*node, scope);
}

Walk::Tensors Walk::results_of(const onnx::NodeProto& node, Scope& scope) {
  if (auto results = from_bodies(node, scope)) return std::move(*results);
  const bool is_own = domain_of(node.domain()).empty();
  if (is_own && node.op_type() == "Constant") {
    const onnx::TensorProto* const value = value_of(node, constants_);
    if (value == nullptr) return {};
    const std::vector<int64_t> dims(value->dims().begin(), value->dims().end());
    return {{.type = tensor_type(value->data_type(), dims), .constant = value}};
  }
  if (is_own && node.op_type() == "Identity" && node.input_size() == 1)
    if (const GraphTensor* const tensor = scope.find(node.input(0)); tensor != nullptr)
      return {{.type = tensor->type, .constant = tensor->constant, .why = tensor->why}};
  if (const NodeOperator* const op = find_operator(node); op != nullptr)
    return pool(node, scope, draft_of(*op, node, scope, options_, open_dims_), "");
  if (!is_reduction(node)) return other(node, scope);
  if (auto draft = global_pool(node, scope)) {
    const auto read = read_input(node.input(0), scope, open_dims_, *draft);
    pool(node, scope, read ? ir::Result<PoolDraft>(*draft) : tl::unexpected(read.error()), node.op_type());
  }
  return {{.type = reduced_type(node, scope)}};
}

Walk::Tensors Walk::pool(const onnx::NodeProto& node, Scope& scope, const ir::Result<PoolDraft>& draft,
                         const std::string& note) {
  PoolNode& found = found_.nodes.emplace_back();
  found.name = scope.path + name_of(node);
  found.note = note;
  found.graph = scope.path;
  took_output_shape_ = took_output_shape_ || (draft && draft->takes_output_shape);
  for (const std::string& input : node.input()) {
    const GraphTensor* const tensor = scope.find(input);
    found.inputs.push_back(tensor == nullptr ? "" : tensor->id);
  }
  for (const std::string& output : node.output()) found.outputs.push_back(scope.path + output);
  const auto spec = draft ? spec_of(*draft) : tl::unexpected(draft.error());
  found.spec = spec.map([](const frontend::PoolSpec& each) { return print(each); });

  const GraphTensor* const input = node.input_size() == 0 ? nullptr : scope.find(node.input(0));
  if (input == nullptr || element_of(input->type) == 0) return {};
  std::vector<int64_t> dims;
  if (spec) dims = output_dims(*spec, draft->is_nhwc);
  if (!spec && rank_of(input->type)) dims.assign(static_cast<size_t>(*rank_of(input->type)), -1);
  GraphTensor result{.type = tensor_type(element_of(input->type), dims)};
  auto* const shape = result.type.mutable_tensor_type()->mutable_shape();
  if (!spec && dims.empty()) result.type.mutable_tensor_type()->clear_shape();
  // The batch is the input's, and where there is no spec the channels of a plain tensor.
  const bool is_plain = node.op_type() != "NhwcMaxPool" && !node.op_type().starts_with("QLinear");
  for (int i = 0; i < (!spec && is_plain ? 2 : 1); ++i)
    if (i < shape->dim_size()) *shape->mutable_dim(i) = input->type.tensor_type().shape().dim(i);
  if (!spec)
    result.why =
        input->why.empty() ? fmt::format("it comes from {}, which has no spec", found.name) : input->why;
  GraphTensor indices = result;
  indices.type.mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
  return {std::move(result), std::move(indices)};
}

Walk::Tensors Walk::other(const onnx::NodeProto& node, Scope& scope) {
  InferredTypes inferred = infer_(node, scope);
  inferred.types.resize(static_cast<size_t>(node.output_size()));
  std::string why = inferred.why;
  for (const std::string& name : node.input()) {
    const GraphTensor* const tensor = scope.find(name);
    if (tensor != nullptr && !tensor->why.empty()) why = tensor->why;
  }
  if (why.empty()) why = fmt::format("{} makes it", node.op_type());
  Tensors results;
  for (onnx::TypeProto& type : inferred.types) results.push_back({.type = std::move(type), .why = why});
  return results;
}

// What the model declares of it says what is not known, or is wrong.
void Walk::settle(const std::string& name, GraphTensor tensor, Scope& scope, std::string_view by) {
  if (name.empty()) return;
  if (const auto declared = scope.declared.find(name); declared != scope.declared.end()) {
    if (contradict(tensor.type, declared->second))
      found_.warnings.push_back(fmt::format("{}{}: the model declares {}, {} it is {}", scope.path, name,
                                            type_text(declared->second), by, type_text(tensor.type)));
    else
      fill(tensor.type, declared->second);
  }
  if (is_known(tensor.type)) tensor.why.clear();
  if (!scope.define(name, std::move(tensor)))
    refuse({ir::ErrorKind::invalid, "onnx.model", fmt::format("two nodes make {}{}", scope.path, name), ""});
}

void Walk::note_concat(const onnx::NodeProto& node, const Scope& scope) {
  if (node.op_type() != "Concat" || node.input_size() == 0) return;
  const GraphTensor* const first = scope.find(node.input(0));
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() != "axis" || first == nullptr) continue;
    if (attribute.i() != 1 && attribute.i() + rank_of(first->type).value_or(0) != 1) continue;
    OnnxModel::Concat concat{.name = scope.path + name_of(node), .inputs = {}};
    for (const std::string& input : node.input()) {
      const GraphTensor* const tensor = scope.find(input);
      concat.inputs.push_back(tensor == nullptr ? "" : tensor->id);
    }
    found_.concats.push_back(std::move(concat));
  }
}

// The node itself where its attributes are its own; nullptr if they refer to nothing.
const onnx::NodeProto* Walk::with_arguments(const onnx::NodeProto& node, const Scope& scope) {
  const auto refers = [](const onnx::AttributeProto& each) { return !each.ref_attr_name().empty(); };
  if (std::ranges::none_of(node.attribute(), refers)) return &node;
  if (scope.arguments == nullptr) {
    refuse({ir::ErrorKind::invalid, "onnx.model",
            fmt::format("{} refers to an attribute outside of a function", scope.path + name_of(node)), ""});
    return nullptr;
  }
  onnx::NodeProto& resolved = resolved_.emplace_back(node);
  resolved.clear_attribute();
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!refers(attribute)) {
      *resolved.add_attribute() = attribute;
    } else if (const auto given = scope.arguments->find(attribute.ref_attr_name());
               given != scope.arguments->end()) {
      onnx::AttributeProto& copy = *resolved.add_attribute();
      copy = *given->second;
      copy.set_name(attribute.name());
    }
  }
  return &resolved;
}

}  // namespace pooljit::tools
