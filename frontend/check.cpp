// Rules in the order in which they make sense: each may rely on those before it. A rule is a function that
// returns an Error or nothing.
#include "frontend/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "frontend/epilogue.h"
#include "frontend/geometry.h"
#include "frontend/operators.h"
#include "frontend/rules.h"
#include "frontend/unsupported.h"

namespace pooljit::frontend {

namespace {

constexpr int64_t largest_element_bytes = 8;  // of the indices

Broken check_form(const PoolSpec& spec) {
  if (spec.dims.empty() || spec.dims.size() > max_rank)
    return broke(Rule::rank, "got {} spatial dims", spec.dims.size());
  if (!ir::info(spec.dtype).tensor)
    return broke(Rule::unsupported_dtype, "got {}", ir::info(spec.dtype).spec_name);
  if (!ir::info(output_dtype(spec)).tensor)
    return broke(Rule::unsupported_dtype, "got output_dtype {}", ir::info(output_dtype(spec)).spec_name);
  if (spec.batch && *spec.batch < 0) return broke(Rule::size, "got N={}", *spec.batch);
  if (spec.channels < 1) return broke(Rule::size, "got C={}", spec.channels);
  return std::nullopt;
}

Broken check_options(const PoolSpec& spec) {
  const Operator* op = find_operator(spec);
  if (op == nullptr) return broke(Rule::op, "got a direction or form that the reduction does not have");
  for (const Keyword& keyword : keywords())
    if (!op->allows(keyword.key) && keyword.is_set(spec))
      return broke(Rule::option, "got {} for {}", keyword.name, name_of(*op, spec.dims.size()));
  if (spec.divisor_override == 0) return broke(Rule::divisor_override, "got 0");
  const bool makes_integers = !ir::is_float(spec.dtype) && !ir::is_float(output_dtype(spec));
  if (spec.rounding != ir::RoundingRule::half_even && !makes_integers)
    return broke(Rule::rounding, "got {} to {}", ir::info(spec.dtype).spec_name,
                 ir::info(output_dtype(spec)).spec_name);
  if (!(spec.norm_type > 0)) return broke(Rule::norm_type, "got {}", spec.norm_type);
  return std::nullopt;
}

Broken check_quantized(const PoolSpec& spec) {
  const PoolSpec plain;
  if (!spec.quantized) {
    const bool has_scale = spec.scale != plain.scale || spec.zero_point != plain.zero_point ||
                           spec.output_scale || spec.output_zero_point;
    if (has_scale)
      return broke(Rule::quantized, "got a scale or zero point for {}", ir::info(spec.dtype).spec_name);
    return std::nullopt;
  }
  if (!find_operator(spec)->allows(Key::scale) || ir::is_float(spec.dtype))
    return broke(Rule::quantized, "got {} of q{}", name_of(*find_operator(spec), spec.dims.size()),
                 ir::info(spec.dtype).spec_name);
  for (double scale : {spec.scale, spec.output_scale.value_or(1)})
    if (!(scale > 0) || std::isinf(scale)) return broke(Rule::scale, "got {}", scale);
  for (int64_t zero_point : {spec.zero_point, spec.output_zero_point.value_or(0)})
    if (ir::lane_bits(spec.dtype, zero_point) != zero_point)
      return broke(Rule::zero_point, "got {}", zero_point);
  return std::nullopt;
}

bool indices_count_batch(const PoolSpec& spec) {
  return spec.index_scope == ir::IndexScope::tensor || spec.index_scope == ir::IndexScope::nhwc_batch;
}

// The largest index of one image plus one.
Checked index_range_of_image(const PoolSpec& spec) {
  Checked range = 1;
  for (const SpecDim& dim : spec.dims) {
    if (spec.index_scope != ir::IndexScope::window)
      range = range * dim.input;
    else  // an adaptive window begins and ends within its share, rounded outwards
      range = range * (dim.adaptive_output == 0 ? dim.kernel : (dim.input - 1) / dim.adaptive_output + 2);
  }
  const bool counts_channels =
      spec.index_scope != ir::IndexScope::plane && spec.index_scope != ir::IndexScope::window;
  return counts_channels ? range * spec.channels : range;
}

Checked index_range(const PoolSpec& spec) {
  const Checked range = index_range_of_image(spec);
  return indices_count_batch(spec) ? range * spec.batch.value_or(1) : range;
}

int64_t largest_index(ir::DType dtype) {
  return dtype == ir::DType::u8    ? std::numeric_limits<uint8_t>::max()
         : dtype == ir::DType::i32 ? std::numeric_limits<int32_t>::max()
                                   : std::numeric_limits<int64_t>::max();
}

Broken check_indices(const PoolSpec& spec) {
  for (Key key : {Key::index_dtype, Key::index_scope, Key::storage_order}) {
    const Keyword& keyword = keywords()[static_cast<size_t>(key)];
    if (!has_indices(spec) && keyword.is_set(spec))
      return broke(Rule::option, "got {} without return_indices=True", keyword.name);
  }
  if (!has_indices(spec)) return std::nullopt;
  const bool counts_planes = spec.index_scope == ir::IndexScope::tensor;
  if (spec.storage_order != 0 && !(spec.storage_order == 1 && counts_planes))
    return broke(Rule::storage_order, "got {}", spec.storage_order);
  if (spec.index_dtype != ir::DType::i64 && spec.index_dtype != ir::DType::i32 &&
      !(spec.index_dtype == ir::DType::u8 && spec.index_scope == ir::IndexScope::window))
    return broke(Rule::index_dtype, "got {}", ir::info(spec.index_dtype).spec_name);
  const int64_t most = largest_index(spec.index_dtype);
  const auto range = index_range(spec).value();
  if (!range) return broke(Rule::overflow, "got more indices than fit in 63 bits");
  if (*range > most)
    return broke(Rule::index_dtype, "got {} for indices below {}", ir::info(spec.index_dtype).spec_name,
                 *range);
  return std::nullopt;
}

// The output of an unpool is what its windows cover, give or take less than a stride.
Broken check_unpool(const PoolSpec& spec, size_t number) {
  const SpecDim& dim = spec.dims[number];
  const auto covered = unpooled_extent(dim);
  if (!covered) return broke(Rule::overflow, "got too much for spatial dim {}", number);
  const int64_t output = dim.unpool_output != 0 ? dim.unpool_output : *covered;
  if (output < 1 || std::abs(output - *covered) >= std::max(dim.stride, int64_t{1}))
    return broke(Rule::unpool_size, "got {}, windows that cover {} and stride {} in spatial dim {}", output,
                 *covered, dim.stride, number);
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
  if (dim.is_free && dim.unpool_output != 0)
    return broke(Rule::free_dim, "got output_size {} in spatial dim {}", dim.unpool_output, number);
  if (is_unpool(spec)) return check_unpool(spec, number);
  if ((dim.adaptive_output != 0) != is_adaptive(spec))
    return broke(Rule::missing, "got an output_size for some dims only");
  const auto output = output_extent(dim, spec.ceil_mode);
  if (!output) return broke(Rule::overflow, "got too much for spatial dim {}", number);
  if (*output < 1 && is_adaptive(spec))
    return broke(Rule::output_size, "got output_size {} in spatial dim {}", *output, number);
  if (*output < 1)
    return broke(Rule::output_size,
                 "got input {}, padding {} and {}, kernel_size {}, dilation {} in spatial dim {}", dim.input,
                 dim.pad_begin, dim.pad_end, dim.kernel, dim.dilation, number);
  return std::nullopt;
}

// The batch may be 0, and one image of it is counted all the same.
Checked elements(const Axes& shape) {
  Checked all = 1;
  for (int64_t extent : shape) all = all * std::max(extent, int64_t{1});
  return all;
}

// A tensor's elements and their bytes can be counted, also of those that share a place, and its view's bytes
// addressed.
Broken check_tensor(const PoolSpec& spec, Layout layout, const Axes& shape,
                    const std::vector<int64_t>& strides, Rule negative) {
  if (!strides.empty() && strides.size() != shape.size())
    return broke(Rule::count, "got strides [{}] for {} dims", fmt::join(strides, ","), shape.size());
  for (int64_t stride : strides)
    if (stride < 0) return broke(negative, "got [{}]", fmt::join(strides, ","));
  const auto packed = packed_strides(spec, layout, shape);
  if (!packed || !(elements(shape) * largest_element_bytes).value())
    return broke(Rule::overflow, "got dims [{}]", fmt::join(shape, ","));
  const Axes used = strides.empty() ? *packed : Axes(strides.begin(), strides.end());
  if (!(reach(spec, layout, shape, used) * largest_element_bytes).value())
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
    const Checked span = padded + dim.unpool_output + Checked(dim.dilation) * dim.kernel + dim.stride;
    elements = elements + span * std::max(strides[strides.size() - spec.dims.size() + i], int64_t{1});
    taps = taps * dim.kernel;
  }
  if ((elements * largest_element_bytes).value() && (taps * 256).value()) return std::nullopt;
  return broke(Rule::overflow, "got too much padding or too large a window");
}

// Enough, and exact for every view made by slicing, transposing or padding: sorted by stride, each axis steps
// over all that the smaller ones reach.
Broken check_output_places(const PoolSpec& spec, const Axes& shape) {
  const std::vector<int64_t>& strides = spec.output_strides;
  const int64_t block = channel_block(output_layout(spec));
  std::vector<std::pair<int64_t, int64_t>> axes = {{1, block}};  // stride, extent
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    axes.emplace_back(strides[axis],
                      std::max<int64_t>(shape[axis], 1));  // a batch of 0 shares its kernel with 1
    if (axis == (spec.batch ? 1 : 0)) axes.back().second = (shape[axis] - 1) / block + 1;
  }
  std::erase_if(axes, [](const auto& axis) { return axis.second == 1; });
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

Broken check_pools(const PoolSpec& spec);

Broken check_all(const PoolSpec& spec) {
  if (is_pools(spec)) return check_pools(spec);
  if (auto error = check_form(spec)) return error;
  if (auto error = check_options(spec)) return error;
  if (auto error = check_quantized(spec)) return error;
  for (size_t number = 0; number < spec.dims.size(); ++number)
    if (auto error = check_dim(spec, number)) return error;
  if (auto error = check_indices(spec)) return error;
  if (auto error = check_epilogue(spec)) return error;
  const Axes input = input_axes(spec), output = output_axes(spec);
  if (auto error = check_tensor(spec, spec.layout, input, spec.strides, Rule::strides)) return error;
  if (auto error = check_tensor(spec, output_layout(spec), output, spec.output_strides, Rule::output_strides))
    return error;
  const bool is_forward = spec.direction == ir::Direction::forward;
  const std::vector<int64_t> strides = is_forward ? input_strides(spec) : output_strides(spec);
  if (auto error = check_window(spec, {strides.begin(), strides.end()})) return error;
  return check_output_places(spec, output);
}

// A member is a spec of its own, whose output may be a part of another tensor.
Broken check_member(const PoolSpec& spec, const PoolSpec& member) {
  if (member.direction != ir::Direction::forward || member.dims.size() != spec.dims.size())
    return broke(Rule::members, "got one of another direction or rank");
  if (auto error = check_all(member)) return error;
  if (spec.concat && (member.output_layout || !member.output_strides.empty()))
    return broke(Rule::option, "got output_layout or output_strides of a member beside concat");
  return std::nullopt;
}

// Members whose outputs can be parts of one.
Broken check_concat(const PoolSpec& spec) {
  // Which sizes of a free dim suit, its size tells.
  const auto spatial = [](const PoolSpec& each, const Axes& shape) {
    std::vector<int64_t> extents(shape.end() - static_cast<std::ptrdiff_t>(each.dims.size()), shape.end());
    for (size_t i = 0; i < extents.size(); ++i)
      if (each.dims[i].is_free) extents[i] = 0;
    return extents;
  };
  const PoolSpec& first = spec.members[0];
  for (const PoolSpec& member : spec.members) {
    if (output_dtype(member) != output_dtype(first))
      return broke(Rule::concat, "got {} and {}", ir::info(output_dtype(first)).spec_name,
                   ir::info(output_dtype(member)).spec_name);
    const auto own = spatial(member, output_axes(member)), others = spatial(first, output_axes(first));
    if (own != others)
      return broke(Rule::concat, "got [{}] and [{}]", fmt::join(others, ","), fmt::join(own, ","));
  }
  if (spec.include_input) {
    if (output_dtype(first) != spec.dtype)
      return broke(Rule::concat, "got the input's {} and {}", ir::info(spec.dtype).spec_name,
                   ir::info(output_dtype(first)).spec_name);
    const auto own = spatial(first, output_axes(first)), input = spatial(spec, input_axes(spec));
    if (own != input)
      return broke(Rule::concat, "got the input's [{}] and [{}]", fmt::join(input, ","), fmt::join(own, ","));
  }
  if (const int64_t block = channel_block(output_layout(spec)); spec.channels % block != 0)
    return broke(Rule::concat, "got {} channels in blocks of {}", spec.channels, block);
  if (!(Checked(spec.channels) * static_cast<int64_t>(spec.members.size() + 1)).value())
    return broke(Rule::overflow, "got C={}", spec.channels);
  const Axes output = output_axes(spec);
  if (auto error = check_tensor(spec, output_layout(spec), output, spec.output_strides, Rule::output_strides))
    return error;
  return check_output_places(spec, output);
}

Broken check_pools(const PoolSpec& spec) {
  if (spec.members.size() > most_members) return broke(Rule::members, "got {}", spec.members.size());
  for (size_t i = 0; i < spec.members.size(); ++i) {
    auto error = check_member(spec, spec.members[i]);
    if (!error) continue;
    error->message += fmt::format(" (member {} of {})", i + 1, spec.members.size());
    return error;
  }
  size_t operands = 0;
  for (const PoolSpec& member : spec.members) operands += ir::operand_count(member.epilogue);
  if (operands > ir::most_operands)
    return broke(Rule::member_operands, "got {} of all members' steps", operands);
  if (spec.concat) return check_concat(spec);
  if (spec.include_input) return broke(Rule::option, "got include_input without concat");
  if (spec.output_layout || !spec.output_strides.empty())
    return broke(Rule::option, "got output_layout or output_strides of pools without concat");
  return std::nullopt;
}

bool is_packed(const PoolSpec& spec, Layout layout, const Axes& shape, const std::vector<int64_t>& strides) {
  const Axes packed = *packed_strides(spec, layout, shape);
  return std::equal(strides.begin(), strides.end(), packed.begin(), packed.end());
}

// The window of a global pooling is its input.
void fill_global(PoolSpec& spec) {
  std::ranges::for_each(spec.members, fill_global);
  for (SpecDim& dim : spec.dims)
    if (spec.global)
      dim = {.input = dim.input, .kernel = dim.input, .stride = dim.input, .is_free = dim.is_free};
}

// All dims have an explicit output or none has.
void normalise_unpool(std::vector<SpecDim>& dims) {
  const bool is_covered = std::all_of(dims.begin(), dims.end(), [](const SpecDim& dim) {
    return dim.unpool_output == 0 || dim.unpool_output == unpooled_extent(dim);
  });
  for (SpecDim& dim : dims) {
    if (is_covered)
      dim.unpool_output = 0;
    else if (dim.unpool_output == 0)
      dim.unpool_output = *unpooled_extent(dim);
  }
}

// One spec has one value: what says the same as its absence is left out.
void normalise(PoolSpec& spec) {
  for (PoolSpec& member : spec.members) normalise(member);
  if (spec.concat) spec.output_dtype = spec.members[0].output_dtype;
  if (spec.output_dtype == spec.dtype) spec.output_dtype.reset();
  if (spec.output_layout == spec.layout) spec.output_layout.reset();
  normalise_epilogue(spec);
  if (spec.output_scale == spec.scale) spec.output_scale.reset();
  if (spec.output_zero_point == spec.zero_point) spec.output_zero_point.reset();
  normalise_unpool(spec.dims);
  if (has_free_dims(spec)) return;  // strides that are those of one size are not those of another
  if (!spec.strides.empty() && is_packed(spec, spec.layout, input_axes(spec), spec.strides))
    spec.strides.clear();
  if (!spec.output_strides.empty() &&
      is_packed(spec, output_layout(spec), output_axes(spec), spec.output_strides))
    spec.output_strides.clear();
}

}  // namespace

ir::Result<PoolSpec> check_meaning(PoolSpec spec) {
  fill_free(spec);
  fill_global(spec);
  if (auto error = check_all(spec)) return tl::unexpected<ir::Error>(std::move(*error));
  normalise(spec);
  return spec;
}

ir::Result<PoolSpec> check_spec(PoolSpec spec, FreeDims free_dims) {
  auto checked = check_meaning(std::move(spec));
  if (!checked) return checked;
  if (free_dims == FreeDims::refused)
    if (const auto known = check_known(*checked); !known) return tl::unexpected(known.error());
  if (auto error = check_supported(*checked)) return tl::unexpected<ir::Error>(std::move(*error));
  return checked;
}

int64_t largest_batch(const PoolSpec& spec) {
  int64_t largest = std::numeric_limits<int64_t>::max();
  for (const PoolSpec& pool : pools_of(spec))
    if (has_indices(pool) && indices_count_batch(pool))
      largest =
          std::min(largest, largest_index(pool.index_dtype) / index_range_of_image(pool).value().value_or(1));
  return largest;
}

}  // namespace pooljit::frontend
