#include "tools/onnx/pool_draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "frontend/dialects.h"
#include "frontend/dialects/onnx_opsets.h"
#include "ir/append.h"
#include "tools/onnx/constants.h"

namespace pooljit::tools {
namespace {

constexpr std::string_view runtime_domain = "com.microsoft";  // ONNX Runtime's own operators
constexpr NodeOperator operators_table[] = {
    {"", "MaxPool", "MaxPool"},
    {"", "AveragePool", "AveragePool"},
    {"", "LpPool", "LpPool"},
    {"", "GlobalMaxPool", "GlobalMaxPool"},
    {"", "GlobalAveragePool", "GlobalAveragePool"},
    {"", "GlobalLpPool", "GlobalLpPool"},
    {"", "MaxUnpool", "MaxUnpool"},
    {"", "MaxRoiPool", ""},
    {runtime_domain, "QLinearAveragePool", "QLinearAveragePool"},
    {runtime_domain, "QLinearGlobalAveragePool", "QLinearGlobalAveragePool"},
    {runtime_domain, "NhwcMaxPool", "MaxPool", true},
    {runtime_domain, "MaxpoolWithMask", ""},
};
constexpr NodeOperator foreign = {"", "", ""};

// Attributes of ONNX's pooling operators; the dialect says which has which.
constexpr std::string_view attribute_names[] = {
    "auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape",
    "p",        "pads",      "storage_order",     "strides",   "channels_last",
};

// The value of an attribute; none for another kind than these.
std::optional<std::string> value_text(const onnx::AttributeProto& attribute) {
  using Kind = onnx::AttributeProto;
  // Files before version 2 of ONNX's format have no type.
  const auto kind = attribute.has_type() ? attribute.type()
                    : attribute.has_i()  ? Kind::INT
                    : attribute.has_f()  ? Kind::FLOAT
                    : attribute.has_s()  ? Kind::STRING
                                         : Kind::INTS;
  if (kind == Kind::INT) return std::to_string(attribute.i());
  if (kind == Kind::FLOAT) return fmt::format("{}", attribute.f());  // p of the first opset
  if (kind == Kind::INTS) return fmt::format("[{}]", fmt::join(attribute.ints(), ","));
  const auto is_plain = [](char c) { return c == '_' || (c >= 'A' && c <= 'Z'); };
  if (kind == Kind::STRING && !attribute.s().empty() && std::ranges::all_of(attribute.s(), is_plain))
    return attribute.s();
  return std::nullopt;
}

ir::Result<std::string> attributes_text(const onnx::NodeProto& node, bool without_pads) {
  std::string text;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    const std::string& name = attribute.name();
    if (std::ranges::find(attribute_names, name) == std::end(attribute_names))
      return ir::invalid("onnx.attribute", fmt::format("{} has no attribute {}", node.op_type(), name));
    const auto value = value_text(attribute);
    if (!value)
      return ir::invalid("onnx.attribute",
                         fmt::format("{} of {} is no number, list or word", name, node.op_type()));
    if (without_pads && name == "pads") continue;
    ir::append(text, ", {}={}", name, *value);
  }
  return text;
}

// The scales and zero points of a node are inputs that have to be constants.
constexpr std::string_view quantization_inputs[] = {"", "x_scale", "x_zero_point", "y_scale", "y_zero_point"};

ir::Result<std::string> quantization_text(const onnx::NodeProto& node, const Scope& scope) {
  std::string text;
  const int inputs = std::min(node.input_size(), static_cast<int>(std::size(quantization_inputs)));
  for (int i = 1; i < inputs; ++i) {
    if (node.input(i).empty()) continue;
    const GraphTensor* const tensor = scope.find(node.input(i));
    const auto number =
        tensor == nullptr || tensor->constant == nullptr ? std::nullopt : number_of(*tensor->constant);
    if (!number)
      return ir::unsupported("onnx.constant",
                             fmt::format("{}, the {}, is no constant", node.input(i), quantization_inputs[i]),
                             "scales and zero points are part of a kernel");
    ir::append(text, ", {}={}", quantization_inputs[i], *number);
  }
  return text;
}

// What a MaxUnpool's third input says.
ir::Result<std::string> output_shape_text(const onnx::NodeProto& node, const Scope& scope, PoolDraft& draft,
                                          const std::vector<int64_t>& given) {
  const std::string& name = node.input(2);
  const GraphTensor* const tensor = scope.find(name);
  std::optional<std::vector<int64_t>> shape;
  if (tensor != nullptr && tensor->constant != nullptr) shape = integers_of(*tensor->constant);
  draft.takes_output_shape = !shape && tensor != nullptr && tensor->is_input && !given.empty();
  if (draft.takes_output_shape) shape = given;
  const auto declared = scope.declared.find(node.output_size() > 0 ? node.output(0) : "");
  if (!shape && declared != scope.declared.end() && is_known(declared->second)) {
    shape.emplace();
    for (int i = 0; i < *rank_of(declared->second); ++i) shape->push_back(*extent_of(declared->second, i));
  }
  if (!shape)
    return ir::unsupported("onnx.output_shape", fmt::format("{}, the output_shape, is no constant", name),
                           tensor != nullptr && tensor->is_input
                               ? "`pooljit run --onnx` takes --output-shape 1,64,112,112"
                               : "");
  for (size_t i = 0; i < std::min({shape->size(), draft.dims.size(), size_t{2}}); ++i)
    if (draft.dims[i] != "N" && draft.dims[i] != std::to_string((*shape)[i]))
      return ir::invalid(
          "onnx.output_shape",
          fmt::format("{} is [{}], the input [{}]", name, fmt::join(*shape, ","), fmt::join(draft.dims, ",")),
          "N and C are those of the input");
  return fmt::format(", output_shape=[{}]", fmt::join(*shape, ","));
}

}  // namespace

const NodeOperator* find_operator(const onnx::NodeProto& node) {
  const auto has_name = [&](const NodeOperator& row) { return row.name == node.op_type(); };
  const auto is_it = [&](const NodeOperator& row) {
    return has_name(row) && row.domain == domain_of(node.domain());
  };
  if (const auto row = std::ranges::find_if(operators_table, is_it); row != std::end(operators_table))
    return row;
  return std::ranges::any_of(operators_table, has_name) ? &foreign : nullptr;
}

ir::Result<void> read_input(const std::string& name, const Scope& scope, const std::string& open_dims,
                            PoolDraft& draft) {
  const GraphTensor* const tensor = scope.find(name);
  if (tensor == nullptr)
    return ir::invalid("onnx.graph", fmt::format("nothing before the node makes {}", name),
                       "nodes are sorted: each after those that make what it reads");
  const onnx::TypeProto& type = tensor->type;
  const std::string why = tensor->why.empty() ? "" : fmt::format(": {}", tensor->why);
  if (element_of(type) == 0)
    return ir::unsupported("onnx.shape", fmt::format("the type of {} is not known{}", name, why));
  draft.dtype = dtype_of(element_of(type));
  if (draft.dtype.empty())
    return ir::unsupported("onnx.dtype",
                           fmt::format("{} is a tensor of {}", name, element_name(element_of(type))));
  if (!rank_of(type))
    return ir::unsupported("onnx.shape", fmt::format("the shape of {} is not known{}", name, why));
  const int rank = *rank_of(type), channel = draft.is_nhwc ? rank - 1 : 1;
  const int spatial = rank - 2;
  for (int i = 0; i < rank; ++i) {
    const auto extent = extent_of(type, i);
    const bool may_be_free = i == 0 || (i != channel && spatial >= 1 && spatial <= int{frontend::max_rank});
    if (!extent && !may_be_free)
      return ir::unsupported("onnx.shape", fmt::format("dim {} of {} is not known{}", i, name, why),
                             open_dims);
    draft.dims.push_back(
        extent   ? std::to_string(*extent)
        : i == 0 ? "N"
                 : std::string(1, frontend::dim_letter(static_cast<size_t>(spatial),
                                                       static_cast<size_t>(i - (i < channel ? 1 : 2)))));
  }
  if (draft.is_nhwc && draft.dims.size() > 2)
    std::rotate(draft.dims.begin() + 1, draft.dims.end() - 1, draft.dims.end());
  return {};
}

ir::Result<PoolDraft> draft_of(const NodeOperator& op, const onnx::NodeProto& node, const Scope& scope,
                               const ModelOptions& options, const std::string& open_dims) {
  const std::string domain = domain_of(node.domain());
  if (op.dialect.empty())
    return ir::unsupported("onnx.operator", fmt::format("{}{} is not done", node.op_type(),
                                                        domain.empty() ? "" : " of domain " + domain));
  if (domain.empty() && scope.opset(domain) == 0)
    return ir::invalid("onnx.graph", "the model, or the function, imports no opset of ONNX");
  if (node.input_size() == 0) return ir::invalid("onnx.graph", "the node has no input");
  PoolDraft draft{.op = fmt::format("onnx.{}", op.dialect), .is_nhwc = op.is_nhwc, .ceil = options.ceil};
  if (domain.empty()) draft.opset = scope.opset(domain);
  const bool has_shape = op.name == "MaxUnpool" && node.input_size() > 2 && !node.input(2).empty();
  auto attributes = attributes_text(node, has_shape);  // by ONNX's text, output_shape is instead of pads
  if (!attributes) return tl::unexpected(attributes.error());
  draft.attributes = std::move(*attributes);
  if (auto ok = read_input(node.input(0), scope, open_dims, draft); !ok) return tl::unexpected(ok.error());
  if (op.name == "MaxPool" && node.output_size() > 1 && !node.output(1).empty())
    draft.attributes += ", return_indices=1";
  ir::Result<std::string> more;
  if (op.name.starts_with("QLinear")) more = quantization_text(node, scope);
  if (has_shape) more = output_shape_text(node, scope, draft, options.output_shape);
  if (!more) return tl::unexpected(more.error());
  draft.attributes += *more;
  return draft;
}

ir::Result<frontend::PoolSpec> spec_of(const PoolDraft& draft) {
  std::string text = fmt::format("{}({}[{}]", draft.op, draft.dtype, fmt::join(draft.dims, ","));
  const char* const layouts[] = {":nwc", ":nhwc", ":ndhwc"};
  const size_t rank = draft.dims.size() < 3 ? 0 : draft.dims.size() - 3;
  if (draft.is_nhwc && rank < std::size(layouts)) text += layouts[rank];
  text += draft.attributes;
  if (draft.opset != 0) ir::append(text, ", opset={}", draft.opset);
  auto spec = frontend::parse_meaning(text + ")");
  if (!spec || spec->ceil_mode == frontend::CeilMode::floor) return spec;
  const bool keeps = draft.ceil == CeilChoice::letter && draft.opset < frontend::onnx_opsets::dropped_since;
  spec->ceil_mode = keeps ? frontend::CeilMode::plain : frontend::CeilMode::torch;
  return frontend::parse_meaning(print(*spec));
}

std::vector<int64_t> output_dims(const frontend::PoolSpec& spec, bool is_nhwc) {
  std::vector<int64_t> dims = known_output_shape(spec);
  for (size_t i = dims.size() - spec.dims.size(); i < dims.size(); ++i)
    if (dims[i] == 0) dims[i] = -1;
  if (spec.free_batch && !dims.empty()) dims[0] = -1;
  if (is_nhwc && dims.size() > 2) std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return dims;
}

}  // namespace pooljit::tools
