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
  if (nest.dims[0].kind == ir::DimKind::adaptive)
    return fmt::format("to{}", fmt::join(each(nest, &ir::NestDim::output), "x"));
  std::string text = fmt::format("k{}s{}", numbers(each(nest, &ir::NestDim::kernel)),
                                 numbers(each(nest, &ir::NestDim::stride)));
  const std::vector<int64_t> padding = each(nest, &ir::NestDim::pad_begin),
                             dilation = each(nest, &ir::NestDim::dilation);
  if (std::ranges::any_of(padding, [](int64_t value) { return value != 0; }))
    text += fmt::format("p{}", numbers(padding));
  if (std::ranges::any_of(dilation, [](int64_t value) { return value != 1; }))
    text += fmt::format("d{}", numbers(dilation));
  return text;
}

constexpr std::string_view reductions[] = {
#define REDUCTION(name, text, note) text,
#include "ir/reductions.def"
#undef REDUCTION
};

}  // namespace

std::string kernel_name(const ir::PoolNest& nest, ir::Isa isa) {
  if (!nest.members.empty())
    return fmt::format("pooljit:{}_pools{}d_{}_{}x{}_{}", nest.members.size(), nest.dims.size(),
                       ir::info(nest.input.dtype).text, nest.channels,
                       fmt::join(each(nest, &ir::NestDim::input), "x"), ir::info(isa).text);
  return fmt::format("pooljit:{}_pool{}d{}_{}_{}x{}_{}{}_{}", reductions[static_cast<size_t>(nest.reduction)],
                     nest.dims.size(), nest.is_backward() ? "_backward" : "", ir::info(nest.input.dtype).text,
                     nest.channels, fmt::join(each(nest, &ir::NestDim::input), "x"), window(nest),
                     nest.indices && !nest.is_backward() ? "_indices" : "", ir::info(isa).text);
}

}  // namespace pooljit::runtime
