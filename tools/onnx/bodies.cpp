// The graphs inside of nodes, and the functions that nodes call.
#include <fmt/format.h>

#include <algorithm>

#include "tools/onnx/graph_walk.h"
#include "tools/onnx/later_fields.h"

namespace pooljit::tools {
namespace {

const onnx::AttributeProto* attribute_of(const onnx::NodeProto& node, std::string_view name) {
  for (const onnx::AttributeProto& attribute : node.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

onnx::TypeProto type_at(const onnx::NodeProto& node, int input, const Scope& scope) {
  const GraphTensor* const tensor = scope.find(node.input(input));
  return tensor == nullptr ? onnx::TypeProto() : tensor->type;
}

std::string body_path(const onnx::NodeProto& node, std::string_view body, const Scope& scope) {
  return fmt::format("{}{}/{}/", scope.path, name_of(node), body);
}

// From 0; `usual` where there is no such list. An axis that makes no sense is -1.
int64_t axis_at(const onnx::NodeProto& node, std::string_view list, int number, int rank) {
  const onnx::AttributeProto* const axes = attribute_of(node, list);
  const int64_t axis = axes == nullptr || number >= axes->ints_size() ? 0 : axes->ints(number);
  return axis < -rank || axis >= rank ? -1 : axis < 0 ? axis + rank : axis;
}

// Without the dim that a Scan goes along.
onnx::TypeProto without_axis(const onnx::TypeProto& type, const onnx::NodeProto& node, int number) {
  onnx::TypeProto slice = type;
  if (!rank_of(type)) return slice;
  const int64_t axis = axis_at(node, "scan_input_axes", number, *rank_of(type));
  auto* const shape = slice.mutable_tensor_type()->mutable_shape();
  if (axis < 0) slice.mutable_tensor_type()->clear_shape();
  if (axis >= 0) shape->mutable_dim()->DeleteSubrange(static_cast<int>(axis), 1);
  return slice;
}

// With a dim of unknown extent, the steps of a loop.
onnx::TypeProto with_axis(const onnx::TypeProto& slice, int64_t axis) {
  onnx::TypeProto type;
  if (element_of(slice) == 0) return type;
  type.mutable_tensor_type()->set_elem_type(element_of(slice));
  if (!rank_of(slice) || axis < 0) return type;
  auto* const shape = type.mutable_tensor_type()->mutable_shape();
  for (int i = 0; i <= *rank_of(slice); ++i) {
    if (i == axis) shape->add_dim();
    if (i < *rank_of(slice)) *shape->add_dim() = slice.tensor_type().shape().dim(i);
  }
  return type;
}

bool same(const onnx::TypeProto& a, const onnx::TypeProto& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

}  // namespace

// None: the node has no body.
std::optional<Walk::Tensors> Walk::from_bodies(const onnx::NodeProto& node, Scope& scope) {
  if (const auto function = functions_.find(function_key(node)); function != functions_.end())
    return call(*function->second, node, scope);
  const auto has_graph = [](const onnx::AttributeProto& each) {
    return each.has_g() || each.graphs_size() > 0;
  };
  if (std::ranges::none_of(node.attribute(), has_graph)) return std::nullopt;
  const bool is_own = domain_of(node.domain()).empty();
  if (is_own && node.op_type() == "If") return branch(node, scope);
  if (is_own && node.op_type() == "Loop") return loop(node, scope);
  if (is_own && node.op_type() == "Scan" && scope.opset("") > 8) return scan(node, scope);
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) walk_body(attribute.g(), body_path(node, attribute.name(), scope), scope, {});
    for (const onnx::GraphProto& graph : attribute.graphs())
      walk_body(graph, body_path(node, attribute.name(), scope), scope, {});
  }
  return Tensors{};
}

Walk::Tensors Walk::walk_body(const onnx::GraphProto& body, const std::string& path, Scope& scope,
                              const std::vector<onnx::TypeProto>& inputs) {
  Scope inner(&scope, path, scope.opsets);
  inner.arguments = scope.arguments;
  Tensors outputs = walk_graph(body, inputs, inner);
  for (const onnx::ValueInfoProto& output : body.output())
    found_.quantizations.note_use(inner, output.name());
  for (GraphTensor& output : outputs) output = {.type = std::move(output.type), .why = std::move(output.why)};
  return outputs;
}

Walk::Tensors Walk::branch(const onnx::NodeProto& node, Scope& scope) {
  Tensors results;
  bool is_first = true;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    Tensors outputs = walk_body(attribute.g(), body_path(node, attribute.name(), scope), scope, {});
    outputs.resize(static_cast<size_t>(node.output_size()));
    if (is_first) results = std::move(outputs);
    for (size_t i = 0; !is_first && i < results.size(); ++i) {
      results[i].type = either(results[i].type, outputs[i].type);
      results[i].why = "the branches of an If may make different shapes";
    }
    is_first = false;
  }
  return results;
}

// Until what the body makes is what it is given, or no more is known of it.
Walk::Tensors Walk::repeat(const onnx::GraphProto& body, const std::string& path, Scope& scope,
                           Carried carried, std::vector<onnx::TypeProto>& inputs) {
  constexpr int most_attempts = 8;
  for (int attempt = 0;; ++attempt) {
    const Mark before = mark();
    Tensors outputs = walk_body(body, path, scope, inputs);
    outputs.resize(std::max(outputs.size(), carried.output + carried.count));
    bool is_stable = true;
    for (size_t i = 0; i < carried.count; ++i) {
      onnx::TypeProto& input = inputs[carried.input + i];
      onnx::TypeProto both = either(input, outputs[carried.output + i].type);
      if (attempt == most_attempts) both.Clear();
      is_stable = is_stable && same(both, input);
      input = std::move(both);
    }
    if (is_stable || attempt > most_attempts || refused_) return outputs;
    take_back(before);
  }
}

Walk::Tensors Walk::loop(const onnx::NodeProto& node, Scope& scope) {
  const onnx::AttributeProto* const body = attribute_of(node, "body");
  if (body == nullptr) return {};
  std::vector<onnx::TypeProto> inputs = {tensor_type(onnx::TensorProto::INT64, {}),
                                         tensor_type(onnx::TensorProto::BOOL, {})};
  for (int i = 2; i < node.input_size(); ++i) inputs.push_back(type_at(node, i, scope));
  const Carried carried{.input = 2, .output = 1, .count = inputs.size() - 2};
  Tensors results = repeat(body->g(), body_path(node, "body", scope), scope, carried, inputs);
  if (results.empty()) return results;
  results.erase(results.begin());  // the condition
  for (size_t i = 0; i < results.size(); ++i) {
    if (i < carried.count) results[i].type = inputs[carried.input + i];
    if (i >= carried.count) results[i].type = with_axis(results[i].type, 0);
    if (results[i].why.empty()) results[i].why = "the steps of a Loop tell it";
  }
  return results;
}

Walk::Tensors Walk::scan(const onnx::NodeProto& node, Scope& scope) {
  const auto *const body = attribute_of(node, "body"), *const count = attribute_of(node, "num_scan_inputs");
  const int scanned =
      count == nullptr ? 0 : static_cast<int>(std::clamp<int64_t>(count->i(), 0, node.input_size()));
  if (body == nullptr) return {};
  const int states = node.input_size() - scanned;
  std::vector<onnx::TypeProto> inputs;
  for (int i = 0; i < node.input_size(); ++i)
    inputs.push_back(i < states ? type_at(node, i, scope)
                                : without_axis(type_at(node, i, scope), node, i - states));
  const Carried carried{.input = 0, .output = 0, .count = static_cast<size_t>(states)};
  Tensors results = repeat(body->g(), body_path(node, "body", scope), scope, carried, inputs);
  for (size_t i = 0; i < results.size(); ++i) {
    if (i < carried.count) results[i].type = inputs[i];
    const int rank = rank_of(results[i].type).value_or(0) + 1;
    if (i >= carried.count)
      results[i].type = with_axis(
          results[i].type, axis_at(node, "scan_output_axes", static_cast<int>(i - carried.count), rank));
    if (results[i].why.empty()) results[i].why = "the steps of a Scan tell it";
  }
  return results;
}

Walk::Tensors Walk::call(const onnx::FunctionProto& function, const onnx::NodeProto& node, Scope& scope) {
  const std::deque<onnx::AttributeProto> defaults = default_attributes(function);
  Attributes arguments;
  for (const onnx::AttributeProto& attribute : defaults) arguments[attribute.name()] = &attribute;
  for (const onnx::AttributeProto& attribute : node.attribute()) arguments[attribute.name()] = &attribute;
  Scope inner(nullptr, fmt::format("{}{}/", scope.path, name_of(node)), function_opsets_[&function]);
  inner.arguments = &arguments;
  for (int i = 0; i < std::min(function.input_size(), node.input_size()); ++i)
    if (const GraphTensor* const tensor = scope.find(node.input(i)); tensor != nullptr)
      inner.define(function.input(i), *tensor);
  for (const onnx::NodeProto& each : function.node()) {
    if (refused_) return {};
    visit(each, inner);
  }
  Tensors results;
  for (const std::string& output : function.output()) {
    const GraphTensor* const tensor = inner.find(output);
    results.push_back(tensor == nullptr ? GraphTensor{} : *tensor);
  }
  return results;
}

}  // namespace pooljit::tools
