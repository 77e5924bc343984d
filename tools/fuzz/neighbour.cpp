#include "tools/fuzz/neighbour.h"

#include <algorithm>
#include <array>

#include "frontend/check.h"

namespace pooljit::fuzz {
namespace {

using frontend::PoolSpec;
using frontend::SpecDim;

struct Field {
  std::string_view name;
  void (*change)(PoolSpec&);
};
SpecDim& last(PoolSpec& spec) { return spec.dims.back(); }
int64_t other(int64_t value) { return value == 1 ? 2 : 1; }

constexpr std::array fields = {
    Field{"kernel_size", [](PoolSpec& s) { last(s).kernel = other(last(s).kernel); }},
    Field{"stride", [](PoolSpec& s) { last(s).stride = other(last(s).stride); }},
    Field{"dilation", [](PoolSpec& s) { last(s).dilation = other(last(s).dilation); }},
    // Another dilation with as many outputs.
    Field{"dilation_and_padding",
          [](PoolSpec& s) {
            const int64_t before = last(s).dilation;
            last(s).dilation = other(before);
            last(s).pad_end += (last(s).dilation - before) * (last(s).kernel - 1);
          }},
    Field{"padding",
          [](PoolSpec& s) {
            for (SpecDim& dim : s.dims) dim.pad_begin = dim.pad_end = dim.pad_begin == 0 ? 1 : 0;
          }},
    Field{"ceil_mode",
          [](PoolSpec& s) {
            using frontend::CeilMode;
            s.ceil_mode = s.ceil_mode == CeilMode::floor ? CeilMode::torch : CeilMode::floor;
          }},
    Field{"count_include_pad", [](PoolSpec& s) { s.count_include_pad = !s.count_include_pad; }},
    Field{"divisor_override",
          [](PoolSpec& s) {
            s.divisor_override = s.divisor_override ? std::nullopt : std::optional<int64_t>(3);
          }},
    Field{"channels", [](PoolSpec& s) { ++s.channels; }},
    Field{"columns", [](PoolSpec& s) { ++last(s).input; }},
    Field{"rows", [](PoolSpec& s) { ++s.dims.front().input; }},
    Field{"batch", [](PoolSpec& s) { s.batch = s.batch.value_or(1) + 1; }},
    Field{"layout",
          [](PoolSpec& s) {
            using frontend::Layout;
            s.layout = s.layout == Layout::nchw ? Layout::nhwc : Layout::nchw;
          }},
    Field{"operator",
          [](PoolSpec& s) {
            s.return_indices = false;
            s.reduction = s.reduction == ir::Reduction::max ? ir::Reduction::avg : ir::Reduction::max;
          }},
};

constexpr auto names = [] {
  std::array<std::string_view, fields.size()> all;
  std::ranges::transform(fields, all.begin(), &Field::name);
  return all;
}();

}  // namespace

std::span<const std::string_view> neighbour_fields() { return names; }

std::string random_field(Draw& draw) { return std::string(names[draw.below(names.size())]); }

std::optional<PoolSpec> neighbour(const PoolSpec& spec, std::string_view name) {
  const auto field = std::ranges::find(fields, name, &Field::name);
  if (field == fields.end()) return std::nullopt;
  PoolSpec changed = spec;
  changed.output_strides.clear();
  for (PoolSpec& pool : pools_of(changed)) {
    field->change(pool);
    pool.strides.clear();
    pool.output_strides.clear();
  }
  share_input(changed);
  auto checked = check_spec(std::move(changed));
  if (!checked) return std::nullopt;
  return std::move(*checked);
}

}  // namespace pooljit::fuzz
