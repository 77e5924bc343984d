#include "frontend/geometry.h"

#include <algorithm>
#include <utility>

namespace pooljit::frontend {

namespace {

enum class Side { pooled, unpooled };  // which tensor of the forward pooling: its output or its input

int64_t extent(const PoolSpec& spec, const SpecDim& dim, Side side) {
  if (is_unpool(spec)) {
    if (side == Side::pooled) return dim.input;
    return dim.unpool_output != 0 ? dim.unpool_output : unpooled_extent(dim).value();
  }
  return side == Side::pooled ? output_extent(dim, spec.ceil_mode).value() : dim.input;
}

// Of the output of several pools: as they are concatenated.
Axes shape_of(const PoolSpec& spec, Side side) {
  const PoolSpec& pool = pools_of(spec).front();
  const size_t pools = side == Side::pooled ? pools_of(spec).size() + (spec.include_input ? 1 : 0) : 1;
  Axes shape;
  if (spec.batch) shape.push_back(*spec.batch);
  shape.push_back(spec.channels * static_cast<int64_t>(pools));
  for (const SpecDim& dim : pool.dims) shape.push_back(extent(pool, dim, side));
  return shape;
}

// 0 for extents that follow from free dims. Those of global and adaptive outputs do not.
std::vector<int64_t> known_shape(const PoolSpec& spec, Side side) {
  const bool is_fixed = side == Side::pooled && !is_unpool(spec) && (spec.global || is_adaptive(spec));
  const Axes axes = shape_of(spec, side);
  std::vector<int64_t> shape(axes.begin(), axes.end());
  for (size_t i = 0; i < spec.dims.size(); ++i)
    if (spec.dims[i].is_free && !is_fixed) shape[shape.size() - spec.dims.size() + i] = 0;
  return shape;
}

std::vector<int64_t> to_vector(const Axes& axes) { return {axes.begin(), axes.end()}; }

// The view of a tensor, and of the one that would follow: an unbatched tensor is a batch of one, so both
// share a kernel.
ir::View view_of(const PoolSpec& spec, ir::DType dtype, Layout layout, const Axes& shape,
                 const std::vector<int64_t>& strides) {
  const size_t rank = spec.dims.size();
  const auto spatial = strides.end() - static_cast<std::ptrdiff_t>(rank);
  ir::View view;
  view.dtype = dtype;
  view.strides.assign(spatial, strides.end());
  view.channel_stride = spatial[-1];
  view.channel_block = channel_block(layout);
  view.batch_stride =
      spec.batch ? strides[0] : reach(spec, layout, shape, {strides.begin(), strides.end()}).value().value();
  return view;
}

}  // namespace

int64_t floor_div(int64_t dividend, int64_t divisor) {
  return dividend / divisor - (dividend % divisor < 0 ? 1 : 0);
}

std::optional<int64_t> output_extent(const SpecDim& dim, CeilMode ceil_mode) {
  if (dim.adaptive_output != 0) return dim.adaptive_output;
  const bool is_floor = ceil_mode == CeilMode::floor;
  const Checked extent = Checked(dim.dilation) * (Checked(dim.kernel) - 1) + 1;
  const Checked slack = Checked(dim.input) + dim.pad_begin + dim.pad_end - extent;
  const auto steps = (is_floor ? slack : slack + dim.stride - 1).value();
  if (!steps) return std::nullopt;
  const auto output = (Checked(floor_div(*steps, dim.stride)) + 1).value();
  if (!output || ceil_mode != CeilMode::torch) return output;
  // The last window must begin inside the input or the padding before it.
  const auto last = ((Checked(*output) - 1) * dim.stride).value();
  const auto limit = (Checked(dim.input) + dim.pad_begin).value();
  if (!last || !limit) return std::nullopt;
  return *last >= *limit ? *output - 1 : *output;
}

std::optional<int64_t> unpooled_extent(const SpecDim& dim) {
  return ((Checked(dim.input) - 1) * dim.stride + dim.kernel - dim.pad_begin - dim.pad_end).value();
}

std::optional<Axes> packed_strides(const PoolSpec& spec, Layout layout, const Axes& shape) {
  const size_t channel = spec.batch ? 1 : 0;
  const int64_t block = channel_block(layout);
  Axes strides = shape;
  Checked step = block;
  bool fits = true;
  const auto place = [&](size_t axis) {
    const auto stride = step.value();
    fits = fits && stride;
    strides[axis] = stride.value_or(0);
    step = step * (axis == channel ? shape[axis] / block + (shape[axis] % block != 0) : shape[axis]);
  };
  if (layout == Layout::nhwc) place(channel);
  for (size_t axis = shape.size(); --axis > channel;) place(axis);
  if (layout != Layout::nhwc) place(channel);
  if (spec.batch) place(0);
  return fits ? std::optional(strides) : std::nullopt;
}

Checked reach(const PoolSpec& spec, Layout layout, const Axes& shape, const Axes& strides) {
  const int64_t block = channel_block(layout);
  const size_t channel = spec.batch ? 1 : 0;
  Checked last = block - 1;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) return 0;
    const int64_t most = shape[axis] - 1;
    last = last + Checked(axis == channel ? most / block : most) * strides[axis];
  }
  return last + 1;
}

namespace {

Side input_side(const PoolSpec& spec) {
  return has_indices_like_output(spec) ? Side::unpooled : Side::pooled;
}
Side output_side(const PoolSpec& spec) {
  return has_indices_like_output(spec) ? Side::pooled : Side::unpooled;
}

}  // namespace

Axes input_axes(const PoolSpec& spec) { return shape_of(spec, input_side(spec)); }
Axes output_axes(const PoolSpec& spec) { return shape_of(spec, output_side(spec)); }

std::vector<int64_t> known_input_shape(const PoolSpec& spec) { return known_shape(spec, input_side(spec)); }
std::vector<int64_t> known_output_shape(const PoolSpec& spec, size_t number) {
  // A concatenated output has its members' extents.
  const PoolSpec& pool = pools_of(outputs_of(spec)[number]).front();
  std::vector<int64_t> shape = output_shape(spec, number);
  const std::vector<int64_t> known = known_shape(pool, output_side(pool));
  std::copy(known.end() - static_cast<std::ptrdiff_t>(spec.dims.size()), known.end(),
            shape.end() - static_cast<std::ptrdiff_t>(spec.dims.size()));
  return shape;
}

std::vector<int64_t> input_shape(const PoolSpec& spec) { return to_vector(input_axes(spec)); }
std::vector<int64_t> output_shape(const PoolSpec& spec, size_t number) {
  return to_vector(output_axes(outputs_of(spec)[number]));
}
std::vector<int64_t> input_strides(const PoolSpec& spec) {
  if (!spec.strides.empty()) return spec.strides;
  return to_vector(*packed_strides(spec, spec.layout, input_axes(spec)));
}
std::vector<int64_t> output_strides(const PoolSpec& spec, size_t number) {
  const PoolSpec& own = outputs_of(spec)[number];
  if (!own.output_strides.empty()) return own.output_strides;
  return to_vector(*packed_strides(own, output_layout(own), output_axes(own)));
}

std::vector<SpecOperand> operands(const PoolSpec& spec) {
  std::vector<SpecOperand> all;
  const auto like_output = [&](const PoolSpec& pool, bool is_tensor) {
    const PoolSpec& written = spec.concat ? spec : pool;
    all.push_back({is_tensor, &pool, output_layout(written), output_shape(pool), output_strides(written)});
  };
  const auto add = [&](const PoolSpec& pool) {
    for (const ir::EpilogueStep& step : pool.epilogue)
      for (const char form : info(step.kind).operands) like_output(pool, form == 'T');
  };
  if (spec.direction == ir::Direction::backward && is_norm(spec.reduction)) {
    like_output(spec, true);
    all.push_back({true, &spec, spec.layout, input_shape(spec), input_strides(spec)});
  } else
    std::ranges::for_each(pools_of(spec), add);
  return all;
}

ir::NestDim nest_dim(const PoolSpec& spec, const SpecDim& dim) {
  const int64_t output =
      is_unpool(spec) ? extent(spec, dim, Side::unpooled) : output_extent(dim, spec.ceil_mode).value();
  ir::NestDim nest{.input = dim.input,
                   .output = output,
                   .kernel = dim.kernel,
                   .stride = dim.stride,
                   .dilation = dim.dilation,
                   .pad_begin = dim.pad_begin,
                   .pad_end = dim.pad_end};
  if (is_adaptive(spec)) {
    nest.kernel = nest.stride = 1;
    // Adaptive windows of one size are ordinary ones.
    if (dim.input % output == 0)
      nest.kernel = nest.stride = dim.input / output;
    else
      nest.kind = ir::DimKind::adaptive;
  }
  if (spec.direction == ir::Direction::backward) {
    std::swap(nest.input, nest.output);
    // Adaptive windows that cover a position are adaptive windows again.
    if (!spec.unpool_gradient && nest.kind == ir::DimKind::pool) nest.kind = ir::DimKind::gather;
  }
  return nest;
}

namespace {

// An integer that has as many bits: to copy elements bit by bit.
ir::DType bits_of(ir::DType dtype) {
  switch (ir::bytes(dtype)) {
    case 1:
      return ir::DType::i8;
    case 2:
      return ir::DType::i16;
    case 4:
      return ir::DType::i32;
    default:
      return ir::DType::i64;
  }
}

// Windows of one element of the spec's input, without an output.
ir::PoolNest nest_of_input(const PoolSpec& spec) {
  ir::PoolNest nest;
  nest.channels = spec.channels;
  for (const SpecDim& dim : spec.dims) nest.dims.push_back({.input = dim.input, .output = dim.input});
  nest.input = view_of(spec, spec.dtype, spec.layout, input_axes(spec), input_strides(spec));
  return nest;
}

// The largest of one element, as an integer.
ir::PoolNest copy_nest(const PoolSpec& spec, const ir::View& output) {
  ir::PoolNest nest = nest_of_input(spec);
  nest.output = output;
  nest.input.dtype = nest.output.dtype = bits_of(spec.dtype);
  return nest;
}

ir::PoolNest make_pools_nest(const PoolSpec& spec) {
  ir::PoolNest nest = nest_of_input(spec);
  for (const PoolSpec& member : spec.members) nest.members.push_back(make_nest(member));
  if (!spec.concat) return nest;
  nest.output = view_of(spec, output_dtype(spec.members[0]), output_layout(spec), output_axes(spec),
                        output_strides(spec));
  if (spec.include_input) nest.members.insert(nest.members.begin(), copy_nest(spec, nest.output));
  for (size_t i = 0; i < nest.members.size(); ++i) {
    ir::View& own = nest.members[i].output;
    const ir::DType dtype = own.dtype;
    own = nest.output;
    own.dtype = dtype;
    nest.member_offsets.push_back(nest.output.channel_offset(static_cast<int64_t>(i) * spec.channels));
  }
  return nest;
}

}  // namespace

ir::PoolNest make_nest(const PoolSpec& spec) {
  if (is_pools(spec)) return make_pools_nest(spec);
  ir::PoolNest nest;
  nest.reduction = spec.reduction;
  // The gradient of an unpool is read as a pooling reads its input, each output one element.
  nest.direction = spec.unpool_gradient ? ir::Direction::forward : spec.direction;
  nest.channels = spec.channels;
  for (const SpecDim& dim : spec.dims) nest.dims.push_back(nest_dim(spec, dim));
  nest.input = view_of(spec, spec.dtype, spec.layout, input_axes(spec), input_strides(spec));
  nest.output =
      view_of(spec, output_dtype(spec), output_layout(spec), output_axes(spec), output_strides(spec));
  if (has_indices(spec)) {
    nest.indices = has_indices_like_output(spec) ? nest.output : nest.input;
    nest.indices->dtype = spec.index_dtype;
  }
  nest.index_scope = spec.index_scope;
  nest.column_major = spec.storage_order == 1;
  nest.nan = spec.nan;
  nest.zeros = spec.zeros;
  nest.count_include_pad = spec.count_include_pad;
  nest.divisor_override = spec.divisor_override;
  nest.rounding = spec.rounding;
  nest.norm_type = spec.norm_type;
  nest.epilogue = spec.epilogue;
  if (spec.quantized && info(spec.reduction).divides)
    nest.quantization = {spec.scale, spec.output_scale.value_or(spec.scale), spec.zero_point,
                         spec.output_zero_point.value_or(spec.zero_point)};
  return nest;
}

}  // namespace pooljit::frontend
