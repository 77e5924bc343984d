// PyTorch: functions and modules, with torch's signatures and torch's own rule for padding.
//   F.max_pool2d(float32[1,64,112,112], 3, 2, 1)           also torch.nn.functional.max_pool2d,
//   torch.max_pool2d nn.MaxPool2d(3, stride=2, padding=1)(float32[1,64,112,112])     also torch.nn.MaxPool2d,
//   MaxPool2d
// Differs from torch: docs/semantics.md lists in what.
#include <fmt/format.h>

#include "frontend/dialects.h"
#include "frontend/dialects/torch_words.h"
#include "frontend/geometry.h"
#include "frontend/rules.h"

namespace pooljit::frontend {

namespace {

using enum Key;
constexpr auto max = ir::Reduction::max, avg = ir::Reduction::avg, lp = ir::Reduction::lp;
constexpr auto forward = ir::Direction::forward, unpool = ir::Direction::unpool;
constexpr KeySet tensor = set_of(strides, scale, zero_point);  // what a torch tensor carries
constexpr KeySet view = set_of(strides);

constexpr Operator functions[] = {
    make_operator("quantized_max_pool", "", max, forward, Form::window,
                  {kernel_size, stride, padding, dilation, ceil_mode}, tensor),
    make_operator("max_pool", "", max, forward, Form::window,
                  {kernel_size, stride, padding, dilation, ceil_mode, return_indices}, tensor),
    make_operator("avg_pool", "", avg, forward, Form::window,
                  {kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override}, tensor),
    make_operator("lp_pool", "", lp, forward, Form::window, {norm_type, kernel_size, stride, ceil_mode},
                  view),
    make_operator("adaptive_max_pool", "", max, forward, Form::adaptive, {output_size, return_indices},
                  tensor),
    make_operator("adaptive_avg_pool", "", avg, forward, Form::adaptive, {output_size}, tensor),
    make_operator("max_unpool", "", max, unpool, Form::unpool, {kernel_size, stride, padding, output_size},
                  view),
};
constexpr Operator modules[] = {
    make_operator("MaxPool", "", max, forward, Form::window,
                  {kernel_size, stride, padding, dilation, return_indices, ceil_mode}, tensor),
    make_operator("AvgPool", "", avg, forward, Form::window,
                  {kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override}, tensor),
    make_operator("LPPool", "", lp, forward, Form::window, {norm_type, kernel_size, stride, ceil_mode}, view),
    make_operator("AdaptiveMaxPool", "", max, forward, Form::adaptive, {output_size, return_indices}, tensor),
    make_operator("AdaptiveAvgPool", "", avg, forward, Form::adaptive, {output_size}, tensor),
    make_operator("MaxUnpool", "", max, unpool, Form::unpool, {kernel_size, stride, padding},
                  view | set_of(output_size)),
};

// Longer ones first where one begins another.
constexpr std::string_view function_prefixes[] = {"torch.nn.functional.", "nn.functional.", "torch.", "F."};
constexpr std::string_view module_prefixes[] = {"torch.nn.", "nn."};

// What torch reads lists as: one number is for all dims, an empty stride is none, and the output_size of an
// unpool may be the whole shape.
void read_as_torch(ArgumentValue& value, std::string_view keyword, size_t dims) {
  if (value.kind != ArgumentValue::Kind::list || keyword == "strides") return;
  if (value.integers.size() == 1 && value.nones == 0) value.kind = ArgumentValue::Kind::integer;
  if (value.integers.empty() && (keyword.empty() || keyword == "stride")) {
    value.kind = ArgumentValue::Kind::word;
    value.text = "None";
  }
  if (keyword != "output_size" || value.nones != 0 || value.integers.size() != dims || dims < 2) return;
  Integers spatial;
  for (size_t i = 2; i < dims; ++i) spatial.push_back(value.integers[i]);
  value.integers = spatial;
  if (spatial.size() == 1) value.kind = ArgumentValue::Kind::integer;
}

Broken check_padding(const PoolSpec& spec) {
  for (size_t i = 0; i < spec.dims.size(); ++i) {
    const SpecDim& dim = spec.dims[i];
    if (dim.pad_begin != dim.pad_end)
      return broke(Rule::dialect, "got different paddings at begin and end; torch has one per dim");
    const auto room = (Checked(dim.dilation) * (Checked(dim.kernel) - 1) + 1 - dim.pad_begin).value();
    // Numbers that make no sense are check_spec's to refuse.
    if (spec.direction == forward && room && dim.pad_begin > 0 && dim.kernel > 0 && dim.pad_begin > *room)
      return broke(Rule::half_padding, "got padding {}, kernel_size {}, dilation {} in spatial dim {}",
                   dim.pad_begin, dim.kernel, dim.dilation, i);
  }
  return std::nullopt;
}

// Averages have one in two and three dims.
Broken check_divisor(const ParsedCall& call, const PoolSpec& spec) {
  constexpr size_t position = 5;
  if (spec.dims.size() != 1 || spec.reduction != avg) return std::nullopt;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const auto& [keyword, value] = call.arguments[i];
    if (keyword.text == "divisor_override" || (keyword.text.empty() && i == position))
      return broken(Rule::option, fmt::format("got divisor_override for {}", call.name.text),
                    "avg_pool1d(...) without a prefix has one, as avg_pool2d has in torch")
          .value();
  }
  return std::nullopt;
}

ir::Result<PoolSpec> parse(std::string_view text, std::span<const std::string_view> prefixes,
                           const Vocabulary& vocabulary) {
  ParsedCall call;
  if (auto error = parse_call(text, call, vocabulary.forms))
    return tl::unexpected<ir::Error>(std::move(*error));
  for (const std::string_view prefix : prefixes)
    if (drop_prefix(call.name, prefix)) break;
  for (size_t i = 0; i < call.arguments.size(); ++i)
    read_as_torch(call.arguments[i].value, call.arguments[i].keyword.text, call.dims.size());
  auto spec = read_call(call, vocabulary);
  if (!spec) return spec;
  if (spec->ceil_mode == CeilMode::plain)
    return broken(Rule::dialect, "got ceil_mode=plain; torch has True and False");
  Broken error = check_padding(*spec);
  if (!error) error = check_divisor(call, *spec);
  if (error) return tl::unexpected<ir::Error>(std::move(*error));
  return spec;
}

}  // namespace

ir::Result<PoolSpec> parse_torch(std::string_view text) {
  return parse(text, function_prefixes, {.operators = functions});
}

ir::Result<PoolSpec> parse_torch_modules(std::string_view text) {
  return parse(text, module_prefixes, {.operators = modules, .forms = Forms::call_or_module});
}

ir::Result<std::string> print_torch(const PoolSpec& spec) {
  const Operator* op = find_operator(functions, spec);
  if (op == nullptr) return no_operator("torch", spec);
  return (op->quantized ? "torch." : "F.") +
         print_call(spec, *op, DimOrder::channels_first, batch_text(spec), set_of(norm_type));
}

ir::Result<std::string> print_torch_modules(const PoolSpec& spec) {
  const Operator* op = find_operator(modules, spec);
  if (op == nullptr) return no_operator("nn", spec);
  return "nn." + print_module(spec, *op, DimOrder::channels_first, set_of(norm_type));
}

}  // namespace pooljit::frontend
