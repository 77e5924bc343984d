#include "tools/onnx/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "tools/onnx/constants.h"

namespace pooljit::tools {
namespace {

// of_integers: what ONNX says of integers is what the pool does. (It does not say how a mean is rounded.)
struct GlobalName {
  std::string_view reduction, pool;  // the operator without the rank and "d"
  std::string_view attributes;
  bool of_integers;
};
constexpr GlobalName global_names[] = {
    {"ReduceMax", "global_max_pool", "", true},
    {"ReduceMean", "global_avg_pool", "", false},
    {"ReduceL1", "global_lp_pool", ", norm_type=1", false},
    {"ReduceL2", "global_lp_pool", ", norm_type=2", false},
    {"ReduceProd", "global_prod_pool", "", true},
};

int64_t integer_attribute(const onnx::NodeProto& node, std::string_view name, int64_t usual) {
  for (const onnx::AttributeProto& attribute : node.attribute())
    if (attribute.name() == name) return attribute.i();
  return usual;
}

const GraphTensor* input_of(const onnx::NodeProto& node, const Scope& scope, int number) {
  return number < node.input_size() ? scope.find(node.input(number)) : nullptr;
}

// From 0; none if they are not known. Before opset 18 an attribute, since then an input.
std::optional<std::set<int64_t>> axes_of(const onnx::NodeProto& node, const Scope& scope, int rank) {
  std::vector<int64_t> axes;
  for (const onnx::AttributeProto& attribute : node.attribute())
    if (attribute.name() == "axes") axes.assign(attribute.ints().begin(), attribute.ints().end());
  if (node.input_size() > 1 && !node.input(1).empty()) {
    const GraphTensor* const tensor = input_of(node, scope, 1);
    if (tensor == nullptr || tensor->constant == nullptr) return std::nullopt;
    auto values = integers_of(*tensor->constant);
    if (!values) return std::nullopt;
    axes = std::move(*values);
  }
  std::set<int64_t> reduced;
  const bool reduces_none = axes.empty() && integer_attribute(node, "noop_with_empty_axes", 0) != 0;
  for (int64_t i = 0; axes.empty() && !reduces_none && i < rank; ++i) reduced.insert(i);
  for (const int64_t axis : axes) {
    if (axis < -rank || axis >= rank) return std::nullopt;
    reduced.insert(axis < 0 ? axis + rank : axis);
  }
  return reduced;
}

}  // namespace

bool is_reduction(const onnx::NodeProto& node) {
  constexpr std::string_view others[] = {"ReduceMin", "ReduceSum", "ReduceLogSum", "ReduceLogSumExp",
                                         "ReduceSumSquare"};
  if (!domain_of(node.domain()).empty()) return false;
  return std::ranges::any_of(global_names,
                             [&](const GlobalName& row) { return row.reduction == node.op_type(); }) ||
         std::ranges::find(others, node.op_type()) != std::end(others);
}

bool drops_dims(const onnx::NodeProto& node) { return integer_attribute(node, "keepdims", 1) == 0; }

onnx::TypeProto reduced_type(const onnx::NodeProto& node, const Scope& scope) {
  onnx::TypeProto type;
  const GraphTensor* const input = input_of(node, scope, 0);
  if (input == nullptr || element_of(input->type) == 0) return type;
  type.mutable_tensor_type()->set_elem_type(element_of(input->type));
  const std::optional<int> rank = rank_of(input->type);
  const auto axes = rank ? axes_of(node, scope, *rank) : std::nullopt;
  if (!axes) return type;
  auto* const shape = type.mutable_tensor_type()->mutable_shape();
  for (int i = 0; i < *rank; ++i) {
    if (!axes->contains(i)) *shape->add_dim() = input->type.tensor_type().shape().dim(i);
    if (axes->contains(i) && !drops_dims(node)) shape->add_dim()->set_dim_value(1);
  }
  return type;
}

std::optional<PoolDraft> global_pool(const onnx::NodeProto& node, const Scope& scope) {
  const auto row = std::ranges::find(global_names, node.op_type(), &GlobalName::reduction);
  const GraphTensor* const input = input_of(node, scope, 0);
  const int rank = input == nullptr ? 0 : rank_of(input->type).value_or(0);
  constexpr int least_rank = 4;  // means along one dim are those of LayerNormalization
  if (row == std::end(global_names) || !domain_of(node.domain()).empty() || rank < least_rank)
    return std::nullopt;
  const int32_t element = element_of(input->type);
  const bool is_float = element == onnx::TensorProto::FLOAT || element == onnx::TensorProto::DOUBLE ||
                        element == onnx::TensorProto::FLOAT16 || element == onnx::TensorProto::BFLOAT16;
  const auto axes = axes_of(node, scope, rank);
  if (!axes || static_cast<int>(axes->size()) != rank - 2 || axes->contains(0) ||
      (!row->of_integers && !is_float))
    return std::nullopt;
  // What is left but the batch is the channels: the first dim or the last.
  const bool is_nhwc = !axes->contains(rank - 1);
  if (!is_nhwc && axes->contains(1)) return std::nullopt;
  return PoolDraft{.op = fmt::format("{}{}d", row->pool, rank - 2),
                   .attributes = std::string(row->attributes),
                   .is_nhwc = is_nhwc};
}

}  // namespace pooljit::tools
