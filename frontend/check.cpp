// Rules in the order in which they make sense: each may rely on those before it. A rule is a function that
// returns an Error or nothing.
#include "frontend/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "frontend/geometry.h"
#include "frontend/rules.h"

namespace pooljit::frontend {

namespace {

using Broken = std::optional<ir::Error>;

constexpr int64_t largest_element_bytes = 8;  // of the indices

template <typename... Args>
Broken broke(Rule rule, fmt::format_string<Args...> found, Args&&... args) {
  return broken(rule, fmt::format(found, std::forward<Args>(args)...)).value();
}

Broken check_form(const PoolSpec& spec) {
  if (spec.dims.empty() || spec.dims.size() > max_rank)
    return broke(Rule::rank, "got {} spatial dims", spec.dims.size());
  if (!ir::info(spec.dtype).tensor)
    return broke(Rule::unsupported_dtype, "got {}", ir::info(spec.dtype).spec_name);
  if (spec.batch && *spec.batch < 0) return broke(Rule::size, "got N={}", *spec.batch);
  if (spec.channels < 1) return broke(Rule::size, "got C={}", spec.channels);
  return std::nullopt;
}

Broken check_options(const PoolSpec& spec) {
  const bool is_max = spec.reduction == ir::Reduction::max;
  if (!is_max && spec.return_indices) return broke(Rule::option, "got return_indices for an average");
  if (!is_max && spec.nan != ir::NanRule::propagate) return broke(Rule::option, "got nan for an average");
  if (!is_max && spec.zeros != ir::ZeroRule::any) return broke(Rule::option, "got zeros for an average");
  if (is_max && !spec.count_include_pad) return broke(Rule::option, "got count_include_pad for a maximum");
  if (is_max && spec.divisor_override) return broke(Rule::option, "got divisor_override for a maximum");
  if (spec.divisor_override == 0) return broke(Rule::divisor_override, "got 0");
  return std::nullopt;
}

Broken check_dim(const PoolSpec& spec, size_t number) {
  const SpecDim& dim = spec.dims[number];
  const auto at_least = [&](Rule rule, int64_t value, int64_t least) -> Broken {
    if (value >= least) return std::nullopt;
    return broke(rule, "got {} in spatial dim {}", value, number);
  };
  if (auto error = at_least(Rule::size, dim.input, 1)) return error;
  if (auto error = at_least(Rule::kernel_size, dim.kernel, 1)) return error;
  if (auto error = at_least(Rule::stride, dim.stride, 1)) return error;
  if (auto error = at_least(Rule::dilation, dim.dilation, 1)) return error;
  if (auto error = at_least(Rule::padding, dim.pad_begin, 0)) return error;
  if (dim.pad_end < 0 && dim.pad_end <= -dim.input)
    return broke(Rule::crop, "got {} of {} in spatial dim {}", dim.pad_end, dim.input, number);
  const auto output = output_extent(dim, spec.ceil_mode);
  if (!output) return broke(Rule::overflow, "got too much for spatial dim {}", number);
  if (*output < 1)
    return broke(Rule::output_size,
                 "got input {}, padding {} and {}, kernel_size {}, dilation {} in spatial dim {}", dim.input,
                 dim.pad_begin, dim.pad_end, dim.kernel, dim.dilation, number);
  return std::nullopt;
}

Checked product(const Axes& factors) {
  Checked all = 1;
  for (int64_t factor : factors) all = all * factor;
  return all;
}

// A tensor's elements can be counted and its view's bytes addressed.
Broken check_tensor(const PoolSpec& spec, const Axes& shape, const std::vector<int64_t>& strides,
                    Rule negative) {
  if (!strides.empty() && strides.size() != shape.size())
    return broke(Rule::count, "got strides [{}] for {} dims", fmt::join(strides, ","), shape.size());
  for (int64_t stride : strides)
    if (stride < 0) return broke(negative, "got [{}]", fmt::join(strides, ","));
  const auto packed = packed_strides(spec, shape);
  if (!packed || !product(shape).value())
    return broke(Rule::overflow, "got dims [{}]", fmt::join(shape, ","));
  const Axes used = strides.empty() ? *packed : Axes(strides);
  if (!(reach(shape, used) * largest_element_bytes).value())
    return broke(Rule::overflow, "got dims [{}] with strides [{}]", fmt::join(shape, ","),
                 fmt::join(used, ","));
  return std::nullopt;
}

// Every position that a window can name, in padding too, has an address, and the sum of a window of bytes can
// be held.
Broken check_window(const PoolSpec& spec, const Axes& strides) {
  Checked elements = 0, taps = 1;
  for (size_t i = 0; i < spec.dims.size(); ++i) {
    const SpecDim& dim = spec.dims[i];
    const Checked padded = Checked(dim.input) + dim.pad_begin + std::max(dim.pad_end, int64_t{0});
    const Checked span = padded + Checked(dim.dilation) * dim.kernel + dim.stride;
    elements = elements + span * std::max(strides[strides.size() - spec.dims.size() + i], int64_t{1});
    taps = taps * dim.kernel;
  }
  if ((elements * largest_element_bytes).value() && (taps * 256).value()) return std::nullopt;
  return broke(Rule::overflow, "got too much padding or too large a window");
}

// Enough, and exact for every view made by slicing, transposing or padding: sorted by stride, each axis steps
// over all that the smaller ones reach.
Broken check_output_places(const Axes& shape, const std::vector<int64_t>& strides) {
  std::vector<std::pair<int64_t, int64_t>> axes;  // stride, extent
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    if (shape[axis] == 0) return std::nullopt;
    if (shape[axis] > 1) axes.emplace_back(strides[axis], shape[axis]);
  }
  std::sort(axes.begin(), axes.end());
  int64_t last = 0;  // offset of the last element along the smaller axes; fits, check_tensor has seen to it
  for (const auto& [stride, extent] : axes) {
    if (stride <= last)
      return broke(Rule::output_strides, "got [{}] for the output [{}]", fmt::join(strides, ","),
                   fmt::join(shape, ","));
    last += (extent - 1) * stride;
  }
  return std::nullopt;
}

Broken check_all(const PoolSpec& spec) {
  if (auto error = check_form(spec)) return error;
  if (auto error = check_options(spec)) return error;
  for (size_t number = 0; number < spec.dims.size(); ++number)
    if (auto error = check_dim(spec, number)) return error;
  const Axes input = input_axes(spec), output = output_axes(spec);
  if (auto error = check_tensor(spec, input, spec.strides, Rule::strides)) return error;
  if (auto error = check_tensor(spec, output, spec.output_strides, Rule::output_strides)) return error;
  if (auto error =
          check_window(spec, spec.strides.empty() ? *packed_strides(spec, input) : Axes(spec.strides)))
    return error;
  return check_output_places(output, spec.output_strides);
}

bool is_packed(const PoolSpec& spec, const Axes& shape, const std::vector<int64_t>& strides) {
  const Axes packed = *packed_strides(spec, shape);
  return std::equal(strides.begin(), strides.end(), packed.begin(), packed.end());
}

}  // namespace

ir::Result<PoolSpec> check_spec(PoolSpec spec) {
  if (auto error = check_all(spec)) return tl::unexpected<ir::Error>(std::move(*error));
  // Strides that say what the layout says are left out.
  if (!spec.strides.empty() && is_packed(spec, input_axes(spec), spec.strides)) spec.strides.clear();
  if (!spec.output_strides.empty() && is_packed(spec, output_axes(spec), spec.output_strides))
    spec.output_strides.clear();
  return spec;
}

}  // namespace pooljit::frontend
