#include "runtime/layer_fields.h"

#include <span>

#include "frontend/keywords.h"

namespace pooljit::runtime {

Broken wrong_field(std::string_view field, std::string_view got, std::string hint) {
  return ir::Error{ir::ErrorKind::invalid, "layer.field", fmt::format("{} is {}", field, got),
                   std::move(hint)};
}

Broken check_flag(std::string_view field, int32_t value) {
  if (value == 0 || value == 1) return std::nullopt;
  return wrong_field(field, fmt::format("{}", value), "0 or 1");
}

// The layout that a spec's text would name.
Broken read_layout(std::string_view field, const pooljit_tensor& tensor, const char* order,
                   frontend::Layout& layout) {
  std::string_view name = text_or_empty(tensor.layout);
  if (name.empty()) name = text_or_empty(order);
  if (name.empty())
    name = tensor.channel_block == 8 ? "nchw8c" : tensor.channel_block == 16 ? "nchw16c" : "nchw";
  const auto found = frontend::find_layout(name, 2);
  if (!found)
    return wrong_field(field, fmt::format("\"{}\"", name),
                       "nchw, nhwc, nchw8c or nchw16c, whatever the rank");
  layout = *found;
  const int64_t block = frontend::channel_block(layout);
  if (tensor.channel_block != 0 && tensor.channel_block != block)
    return wrong_field(fmt::format("{}.channel_block", field.substr(0, field.find('.'))),
                       fmt::format("{}", tensor.channel_block), fmt::format("0, or {} in {}", block, name));
  return std::nullopt;
}

// Empty: packed in the layout.
std::vector<int64_t> explicit_strides(const pooljit_tensor& tensor, const frontend::PoolSpec& spec) {
  const size_t rank = 2 + spec.dims.size(), first = spec.batch ? 0 : 1;
  const std::span strides(tensor.strides + first, rank - first);
  const bool is_packed = !text_or_empty(tensor.layout).empty() ||
                         std::ranges::all_of(strides, [](int64_t stride) { return stride == 0; });
  return is_packed ? std::vector<int64_t>() : std::vector<int64_t>(strides.begin(), strides.end());
}

Broken read_output_place(const pooljit_tensor& output, const char* order, frontend::PoolSpec& spec) {
  frontend::Layout layout = spec.layout;
  const bool is_said =
      !text_or_empty(output.layout).empty() || !text_or_empty(order).empty() || output.channel_block > 1;
  spec.output_strides = explicit_strides(output, spec);
  if (is_said || !spec.output_strides.empty())
    if (auto error = read_layout("output.layout", output, order, layout)) return error;
  if (layout != spec.layout) spec.output_layout = layout;
  return std::nullopt;
}

namespace {

// Fields that follow from others, where they are given all the same.
Broken compare(std::string_view field, std::string_view member, const int64_t* given,
               const std::vector<int64_t>& expected, bool is_batched) {
  for (size_t d = 0; d < expected.size(); ++d) {
    const size_t at = d + (is_batched ? 0 : 1);
    if (given[at] != expected[d])
      return wrong_field(fmt::format("{}.{}[{}]", field, member, at), fmt::format("{}", given[at]),
                         fmt::format("the other fields make it {}", expected[d]));
  }
  return std::nullopt;
}

}  // namespace

Broken compare_tensor(std::string_view field, const pooljit_tensor& tensor, bool is_batched,
                      const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  if (tensor.rank != 0)
    if (auto error = compare(field, "dims", tensor.dims, shape, is_batched)) return error;
  const bool has_strides = std::any_of(tensor.strides + (is_batched ? 0 : 1), std::end(tensor.strides),
                                       [](int64_t stride) { return stride != 0; });
  return has_strides ? compare(field, "strides", tensor.strides, strides, is_batched) : std::nullopt;
}

}  // namespace pooljit::runtime
