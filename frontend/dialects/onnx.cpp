// ONNX's pooling operators, with the attributes of each. opset and ceil decide what ceil_mode means.
//   onnx.MaxPool(float32[1,64,112,112], kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1])
//   onnx.AveragePool(float32[1,3,17,17], kernel_shape=[2,2], auto_pad=SAME_UPPER, count_include_pad=1)
//   onnx.QLinearAveragePool(uint8[1,3,8,8], kernel_shape=[2,2], x_scale=0.5, y_scale=0.25)
// return_indices=1 stands for the node having its second output, y_scale and the like for its inputs.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/dialects.h"
#include "frontend/dialects/arguments.h"
#include "frontend/dialects/onnx_opsets.h"
#include "frontend/dialects/same_padding.h"
#include "frontend/operators.h"
#include "frontend/rules.h"

namespace pooljit::frontend {

namespace {

enum class AutoPad : uint8_t { notset, upper, lower, valid };

// Before opset 22, whether a last window that begins in the padding at the end stays: by the letter of the
// operator's text, or as what runs models does, which drops it.
enum class CeilRule : uint8_t { runtime, letter };
constexpr Choosable<CeilRule> ceil_rules[] = {{"runtime", CeilRule::runtime}, {"letter", CeilRule::letter}};

// A node on its way to a spec.
struct Node {
  PoolSpec spec;
  int64_t ceil_mode = 0, count_include_pad = 0, return_indices = 0, channels_last = 0,
          opset = onnx_opsets::newest;
  AutoPad auto_pad = AutoPad::notset;
  CeilRule ceil = CeilRule::runtime;
  bool has_kernel = false;
};

Broken read_flag(const ArgumentValue& value, int64_t& flag) {
  if (value.kind != ArgumentValue::Kind::integer || value.integers[0] < 0 || value.integers[0] > 1)
    return wrong_kind(value, "0 or 1");
  flag = value.integers[0];
  return std::nullopt;
}

// Lists have one number per dim; ONNX knows no shorthand, but one number is understood.
constexpr Choosable<AutoPad> auto_pads[] = {{"NOTSET", AutoPad::notset},
                                            {"SAME_UPPER", AutoPad::upper},
                                            {"SAME_LOWER", AutoPad::lower},
                                            {"VALID", AutoPad::valid}};

Broken read_output_shape(const ArgumentValue& value, Node& node) {
  std::vector<int64_t> shape;
  if (auto error = read_list(value, "a list with N, C and the spatial extents", shape)) return error;
  const size_t rank = node.spec.dims.size();
  if (shape.size() != rank + 2) return broke(Rule::count, "got {}", quote(value.text, value.at));
  for (size_t i = 0; i < rank; ++i) node.spec.dims[i].unpool_output = shape[i + 2];
  return std::nullopt;
}

struct Attribute {
  std::string_view name;
  Broken (*read)(const ArgumentValue&, Node&);
};
enum Row : uint8_t {
  kernel_shape,
  strides,
  pads,
  dilations,
  auto_pad,
  ceil_mode,
  storage_order,
  count_include_pad,
  p,
  return_indices,
  output_shape,
  x_scale,
  x_zero_point,
  y_scale,
  y_zero_point,
  channels_last,
  opset,
  ceil,
  row_count
};
constexpr Attribute attributes[row_count] = {
    {"kernel_shape",
     [](const ArgumentValue& v, Node& n) {
       n.has_kernel = true;
       return read_dims(v, n.spec, &SpecDim::kernel);
     }},
    {"strides", [](const ArgumentValue& v, Node& n) { return read_dims(v, n.spec, &SpecDim::stride); }},
    {"pads", [](const ArgumentValue& v, Node& n) { return read_padding(v, n.spec); }},
    {"dilations", [](const ArgumentValue& v, Node& n) { return read_dims(v, n.spec, &SpecDim::dilation); }},
    {"auto_pad",
     [](const ArgumentValue& v, Node& n) { return read_choice<AutoPad>(v, auto_pads, n.auto_pad); }},
    {"ceil_mode", [](const ArgumentValue& v, Node& n) { return read_flag(v, n.ceil_mode); }},
    {"storage_order", [](const ArgumentValue& v, Node& n) { return read_flag(v, n.spec.storage_order); }},
    {"count_include_pad", [](const ArgumentValue& v, Node& n) { return read_flag(v, n.count_include_pad); }},
    {"p", [](const ArgumentValue& v, Node& n) { return read_number(v, n.spec.norm_type); }},
    {"return_indices", [](const ArgumentValue& v, Node& n) { return read_flag(v, n.return_indices); }},
    {"output_shape", read_output_shape},
    {"x_scale", [](const ArgumentValue& v, Node& n) { return read_number(v, n.spec.scale); }},
    {"x_zero_point", [](const ArgumentValue& v, Node& n) { return read_integer(v, n.spec.zero_point); }},
    {"y_scale",
     [](const ArgumentValue& v, Node& n) { return read_number(v, n.spec.output_scale.emplace()); }},
    {"y_zero_point",
     [](const ArgumentValue& v, Node& n) { return read_integer(v, n.spec.output_zero_point.emplace()); }},
    {"channels_last", [](const ArgumentValue& v, Node& n) { return read_flag(v, n.channels_last); }},
    {"opset", [](const ArgumentValue& v, Node& n) { return read_integer(v, n.opset); }},
    {"ceil", [](const ArgumentValue& v, Node& n) { return read_choice<CeilRule>(v, ceil_rules, n.ceil); }},
};
constexpr auto attribute_names = [] {
  std::array<std::string_view, row_count> names;
  for (size_t i = 0; i < row_count; ++i) names[i] = attributes[i].name;
  return names;
}();

template <typename... Rows>
constexpr uint32_t rows(Rows... row) {
  return (0u | ... | (1u << row));
}

struct OnnxOperator {
  std::string_view name;
  ir::Reduction reduction;
  ir::Direction direction;
  bool is_global, quantized;
  uint32_t allowed;
};
constexpr uint32_t window = rows(kernel_shape, strides, pads, dilations, auto_pad, ceil_mode, opset, ceil);
constexpr uint32_t linear = rows(x_scale, x_zero_point, y_scale, y_zero_point, channels_last, opset);
constexpr auto forward = ir::Direction::forward;
// The first row that suits a spec prints it.
constexpr OnnxOperator operators_table[] = {
    {"QLinearAveragePool", ir::Reduction::avg, forward, false, true,
     window | linear | rows(count_include_pad)},
    {"QLinearGlobalAveragePool", ir::Reduction::avg, forward, true, true, linear},
    {"MaxPool", ir::Reduction::max, forward, false, false, window | rows(storage_order, return_indices)},
    {"AveragePool", ir::Reduction::avg, forward, false, false, window | rows(count_include_pad)},
    {"LpPool", ir::Reduction::lp, forward, false, false, window | rows(p)},
    {"GlobalMaxPool", ir::Reduction::max, forward, true, false, rows(opset)},
    {"GlobalAveragePool", ir::Reduction::avg, forward, true, false, rows(opset)},
    {"GlobalLpPool", ir::Reduction::lp, forward, true, false, rows(p, opset)},
    {"MaxUnpool", ir::Reduction::max, ir::Direction::unpool, false, false,
     rows(kernel_shape, strides, pads, output_shape, opset)},
};

// The meaning of all attributes together.
Broken interpret(const OnnxOperator& op, Node& node) {
  PoolSpec& spec = node.spec;
  spec.reduction = op.reduction;
  spec.direction = op.direction;
  spec.global = op.is_global;
  spec.count_include_pad = !info(op.reduction).divides || op.is_global || node.count_include_pad != 0;
  spec.return_indices = node.return_indices != 0;
  if (spec.return_indices || op.direction == ir::Direction::unpool) spec.index_scope = ir::IndexScope::tensor;
  if (!spec.return_indices) spec.storage_order = 0;  // says nothing without indices
  for (SpecDim& dim : spec.dims) {
    if (node.auto_pad != AutoPad::notset) dim.pad_begin = dim.pad_end = 0;
    if (node.auto_pad != AutoPad::upper && node.auto_pad != AutoPad::lower) continue;
    const OddPad odd = node.auto_pad == AutoPad::upper ? OddPad::end : OddPad::begin;
    if (auto error = pad_same(dim, odd)) return error;
  }
  if (node.ceil_mode != 0 && node.auto_pad == AutoPad::notset)
    spec.ceil_mode = node.opset < onnx_opsets::dropped_since && node.ceil == CeilRule::letter
                         ? CeilMode::plain
                         : CeilMode::torch;
  return std::nullopt;
}

Broken check_opset(const OnnxOperator& op, const Binding& binding, int64_t opset) {
  if (op.quantized) return std::nullopt;  // of ONNX Runtime's own set, which has one version
  std::vector<std::string_view> given;
  for (size_t i = 0; i < binding.rows.size(); ++i) given.push_back(attribute_names[binding.rows[i]]);
  return onnx_opsets::check(op.name, given, opset);
}

ir::Result<PoolSpec> read(const ParsedCall& call) {
  const auto op = std::find_if(std::begin(operators_table), std::end(operators_table),
                               [&](const OnnxOperator& row) { return row.name == call.name.text; });
  if (op == std::end(operators_table)) {
    std::vector<std::string_view> names;
    for (const OnnxOperator& row : operators_table) names.push_back(row.name);
    return tl::unexpected(unknown_operator(call.name, names));
  }
  if (call.dims.size() > 2 + max_rank)
    return broken(Rule::unsupported_op,
                  fmt::format("got {} spatial dims for {}", call.dims.size() - 2, call.name.text));
  Node node;
  node.spec.dims.resize(std::clamp(call.dims.size(), size_t{3}, 2 + max_rank) - 2);
  Binding binding;
  Broken error = bind_arguments(call, {attribute_names, op->allowed, {}}, binding);
  for (size_t i = 0; !error && i < binding.rows.size(); ++i)
    error = attributes[binding.rows[i]].read(call.arguments[i].value, node);
  if (!error) error = check_opset(*op, binding, node.opset);
  if (!error) error = read_dtype(call.dtype, node.spec);
  if (!error) {
    const auto order = node.channels_last != 0 ? DimOrder::channels_last : DimOrder::channels_first;
    error = read_shape(call, order, false, node.spec);
  }
  if (!error) error = read_layout(call.layout, node.spec);
  if (!error && !op->is_global && !node.has_kernel)
    error =
        broken(Rule::missing, fmt::format("got none for {}", call.name.text), "kernel_shape=[3,3]").value();
  if (error) return tl::unexpected<ir::Error>(std::move(*error));
  if (node.channels_last != 0) node.spec.layout = Layout::nhwc;
  node.spec.quantized |= op->quantized;
  if (auto wrong = interpret(*op, node)) return tl::unexpected<ir::Error>(std::move(*wrong));
  return node.spec;
}

// One item per dim, as ONNX has it.
Printer& list(Printer& out, const std::vector<SpecDim>& dims, int64_t SpecDim::*member) {
  for (size_t i = 0; i < dims.size(); ++i) out.text(i == 0 ? "" : ",").number(dims[i].*member);
  return out;
}

bool any(const PoolSpec& spec, int64_t SpecDim::*member, int64_t usual) {
  return std::any_of(spec.dims.begin(), spec.dims.end(),
                     [&](const SpecDim& dim) { return dim.*member != usual; });
}

void print_window(Printer& out, const PoolSpec& spec) {
  list(out.text(", kernel_shape=["), spec.dims, &SpecDim::kernel).text("]");
  if (any(spec, &SpecDim::stride, 1)) list(out.text(", strides=["), spec.dims, &SpecDim::stride).text("]");
  if (any(spec, &SpecDim::pad_begin, 0) || any(spec, &SpecDim::pad_end, 0)) {
    list(out.text(", pads=["), spec.dims, &SpecDim::pad_begin).text(",");
    list(out, spec.dims, &SpecDim::pad_end).text("]");
  }
  if (any(spec, &SpecDim::dilation, 1))
    list(out.text(", dilations=["), spec.dims, &SpecDim::dilation).text("]");
  if (spec.ceil_mode != CeilMode::floor) out.text(", ceil_mode=1");
  if (spec.ceil_mode == CeilMode::plain) out.text(", opset=21, ceil=letter");
}

void print_options(Printer& out, const OnnxOperator& op, const PoolSpec& spec) {
  if (spec.storage_order != 0) out.text(", storage_order=1");
  if (op.allowed >> count_include_pad & 1 && spec.count_include_pad) out.text(", count_include_pad=1");
  if (spec.norm_type != 2) out.text(", p=").number(spec.norm_type);
  if (spec.return_indices) out.text(", return_indices=1");
  if (!spec.quantized) return;
  out.text(", x_scale=").number(spec.scale).text(", x_zero_point=").number(spec.zero_point);
  if (spec.output_scale) out.text(", y_scale=").number(*spec.output_scale);
  if (spec.output_zero_point) out.text(", y_zero_point=").number(*spec.output_zero_point);
}

}  // namespace

ir::Result<PoolSpec> parse_onnx(std::string_view text) {
  ParsedCall call;
  if (auto error = parse_call(text, call)) return tl::unexpected<ir::Error>(std::move(*error));
  drop_prefix(call.name, "onnx.");
  return read(call);
}

ir::Result<std::string> print_onnx(const PoolSpec& spec) {
  for (const OnnxOperator& op : operators_table) {
    if (op.reduction != spec.reduction || op.direction != spec.direction || op.quantized != spec.quantized ||
        op.is_global != spec.global || is_adaptive(spec))
      continue;
    Printer out;
    out.text("onnx.").text(op.name).text("(").text(ir::info(spec.dtype).spec_name).text("[");
    if (spec.batch) out.text(batch_text(spec)).text(",");
    out.number(spec.channels);
    for (size_t i = 0; i < spec.dims.size(); ++i) out.text(",").extent(spec, i);
    out.text("]");
    if (spec.layout != Layout::nchw) out.text(":").text(layout_name(spec.layout));
    if (!op.is_global) print_window(out, spec);
    print_options(out, op, spec);
    if (any(spec, &SpecDim::unpool_output, 0)) {
      out.text(", output_shape=[").number(spec.batch.value_or(1)).text(",").number(spec.channels).text(",");
      list(out, spec.dims, &SpecDim::unpool_output).text("]");
    }
    return out.text(")").result();
  }
  return no_operator("onnx", spec);
}

}  // namespace pooljit::frontend
