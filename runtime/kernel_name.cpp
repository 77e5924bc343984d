#include "runtime/kernel_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace pooljit::runtime {
namespace {

// 3 where all are 3; 3x2 where they differ.
std::string numbers(const std::vector<int64_t>& values) {
  const bool is_one = std::ranges::all_of(values, [&](int64_t value) { return value == values[0]; });
  return is_one ? fmt::format("{}", values[0]) : fmt::format("{}", fmt::join(values, "x"));
}

std::vector<int64_t> each(const ir::PoolNest& nest, int64_t ir::NestDim::*member) {
  std::vector<int64_t> values;
  for (const ir::NestDim& dim : nest.dims) values.push_back(dim.*member);
  return values;
}

std::string window(const ir::PoolNest& nest) {
  if (nest.extents == ir::Extents::any_windows) return "any";
  if (nest.dims[0].kind == ir::DimKind::adaptive)
    return fmt::format("to{}", fmt::join(each(nest, &ir::NestDim::output), "x"));
  std::string text = fmt::format("k{}s{}", numbers(each(nest, &ir::NestDim::kernel)),
                                 numbers(each(nest, &ir::NestDim::stride)));
  const std::vector<int64_t> padding = each(nest, &ir::NestDim::pad_begin),
                             dilation = each(nest, &ir::NestDim::dilation);
  if (!nest.has_any_size() && std::ranges::any_of(padding, [](int64_t value) { return value != 0; }))
    text += fmt::format("p{}", numbers(padding));
  if (std::ranges::any_of(dilation, [](int64_t value) { return value != 1; }))
    text += fmt::format("d{}", numbers(dilation));
  return text;
}

// The layout in which so many elements are packed; "strided" where that is none.
std::string layout(const ir::View& view, int64_t channels, const std::vector<int64_t>& extents) {
  if (view.channel_block > 1) return fmt::format("nchw{}c", view.channel_block);
  const auto is_packed = [&](int64_t innermost) {
    for (size_t d = extents.size(); d-- > 0; innermost *= extents[d])
      if (extents[d] > 1 && view.strides[d] != innermost) return int64_t{0};
    return innermost;
  };
  const int64_t plane = is_packed(1);
  if (plane > 0 && (channels == 1 || view.channel_stride == plane)) return "nchw";
  return is_packed(channels) > 0 && view.channel_stride == 1 ? "nhwc" : "strided";
}

std::string layout(const ir::PoolNest& nest, const ir::View& view, int64_t ir::NestDim::*extent) {
  if (!nest.has_any_size()) return layout(view, nest.channels, each(nest, extent));
  return view.channel_stride > view.strides.back() ? "nchw" : "nhwc";
}

}  // namespace

std::string kernel_name(const ir::PoolNest& nest, ir::Isa isa, std::string_view label) {
  const std::string prefix = label.empty() ? "pooljit" : fmt::format("pooljit:{}", label);
  const std::string extents =
      nest.has_any_size() ? "any" : fmt::format("{}", fmt::join(each(nest, &ir::NestDim::input), "x"));
  std::string reductions, windows;
  for (const ir::PoolNest& pool : pools_of(nest)) {
    reductions.append(info(pool.reduction).text) += '_';
    windows += '_' + window(pool);
  }
  const ir::PoolNest& first = pools_of(nest).front();
  const std::string input = layout(nest, nest.input, &ir::NestDim::input);
  const std::string output = layout(first, first.output, &ir::NestDim::output);
  const bool has_indices =
      std::ranges::any_of(pools_of(nest), [](const auto& pool) { return !!pool.indices; });
  return fmt::format("{}:{}pool{}d{}_{}_{}_{}x{}{}{}_{}", prefix, reductions, nest.dims.size(),
                     nest.is_backward() ? "_backward" : "", ir::info(nest.input.dtype).text,
                     input == output ? input : input + "_to_" + output, nest.channels, extents, windows,
                     has_indices && !nest.is_backward() ? "_indices" : "", ir::info(isa).text);
}

std::string named_listing(const ir::PoolNest& nest, std::string_view label, std::string_view backend,
                          const jit::CodeBlob& blob, const ir::Program& program) {
  return fmt::format("; {} by {}\n{}", kernel_name(nest, program.isa, label), backend,
                     jit::listing(blob, program));
}

}  // namespace pooljit::runtime
