#include "tools/onnx/qdq.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <unordered_map>

#include "frontend/dialects.h"
#include "tools/onnx/constants.h"

namespace pooljit::tools {
namespace {

// Of a node's input; none if it is no constant of one number.
std::optional<double> number_at(const onnx::NodeProto& node, int input, const Scope& scope) {
  const GraphTensor* const tensor = input < node.input_size() ? scope.find(node.input(input)) : nullptr;
  return tensor == nullptr || tensor->constant == nullptr ? std::nullopt : number_of(*tensor->constant);
}

std::optional<frontend::PoolSpec> of_integers(const PoolNode& node, ir::DType dtype, double scale,
                                              int64_t zero_point, double output_scale,
                                              int64_t output_zero_point) {
  auto spec = frontend::parse_meaning(*node.spec);
  if (!spec || spec->direction != ir::Direction::forward) return std::nullopt;
  spec->dtype = dtype;
  if (is_extreme(spec->reduction)) {
    if (scale != output_scale || zero_point != output_zero_point) return std::nullopt;
  } else if (info(spec->reduction).divides) {
    spec->quantized = true;
    spec->scale = scale, spec->zero_point = zero_point;
    spec->output_scale = output_scale, spec->output_zero_point = output_zero_point;
  } else {
    return std::nullopt;
  }
  auto checked = frontend::parse_meaning(print(*spec));
  return checked ? std::optional(std::move(*checked)) : std::nullopt;
}

}  // namespace

void Quantizations::note(const onnx::NodeProto& node, const Scope& scope) {
  for (const std::string& name : node.input())
    if (!name.empty()) note_use(scope, name);
  const bool dequantizes = node.op_type() == "DequantizeLinear";
  const std::string domain = domain_of(node.domain());
  if ((!dequantizes && node.op_type() != "QuantizeLinear") || (!domain.empty() && domain != "com.microsoft"))
    return;
  // Blocks, and types that are said elsewhere than by the zero point.
  for (const onnx::AttributeProto& attribute : node.attribute())
    if (attribute.name() != "axis" && attribute.i() != 0) return;
  if (node.input_size() < 2 || node.output_size() != 1) return;
  const bool has_zero_point = node.input_size() > 2 && !node.input(2).empty();
  const auto scale = number_at(node, 1, scope), zero_point = number_at(node, 2, scope);
  const GraphTensor *const input = scope.find(node.input(0)), *const output = scope.find(node.output(0));
  if (!scale || !(*scale > 0) || (has_zero_point && !zero_point) || input == nullptr || output == nullptr)
    return;
  int32_t element = onnx::TensorProto::UINT8;
  if (has_zero_point) element = scope.find(node.input(2))->constant->data_type();
  if (dequantizes && element_of(input->type) != element && (has_zero_point || element_of(input->type) == 0))
    return;
  if (dequantizes) element = element_of(input->type);
  linear_.push_back({scope.path + name_of(node), input->id, output->id, dequantizes, element, *scale,
                     static_cast<int64_t>(zero_point.value_or(0))});
}

void Quantizations::note_use(const Scope& scope, const std::string& name) {
  if (const GraphTensor* const tensor = scope.find(name); tensor != nullptr) uses_.push_back(tensor->id);
}

void Quantizations::take_back(const Mark& mark) {
  linear_.erase(linear_.begin() + static_cast<ptrdiff_t>(mark.linear), linear_.end());
  uses_.erase(uses_.begin() + static_cast<ptrdiff_t>(mark.uses), uses_.end());
}

void Quantizations::fuse(std::vector<PoolNode>& nodes) const {
  std::unordered_map<std::string_view, const Linear*> before, after;  // by what they make, or read
  for (const Linear& each : linear_) (each.dequantizes ? before[each.output] : after[each.input]) = &each;
  std::unordered_map<std::string_view, int64_t> uses;
  for (const std::string& tensor : uses_) ++uses[tensor];
  for (PoolNode& node : nodes) {
    if (!node.spec || node.inputs.empty() || node.outputs.empty()) continue;
    const auto from = before.find(node.inputs[0]), to = after.find(node.outputs[0]);
    if (from == before.end() || to == after.end() || uses[node.outputs[0]] != 1) continue;
    const Linear &first = *from->second, &last = *to->second;
    const auto dtype = ir::find_dtype(dtype_of(first.element));
    if (!dtype || first.element != last.element) continue;
    const auto spec = of_integers(node, *dtype, first.scale, first.zero_point, last.scale, last.zero_point);
    if (!spec) continue;
    node.spec = print(*spec);
    node.note = fmt::format("{} + {} + {}", first.node, node.name, last.node);
    node.inputs[0] = first.input, node.outputs[0] = last.output;
  }
}

}  // namespace pooljit::tools
