#include "runtime/layer.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/keywords.h"
#include "frontend/operators.h"
#include "frontend/text.h"
#include "runtime/layer_fields.h"

namespace pooljit::runtime {
namespace {

using frontend::Key;
using frontend::PoolSpec;
using frontend::SpecDim;

// Keywords that the fields of a simple layer tell of.
constexpr Key told[] = {
    Key::kernel_size,  Key::stride,         Key::padding,           Key::dilation,         Key::output_size,
    Key::ceil_mode,    Key::return_indices, Key::count_include_pad, Key::divisor_override, Key::index_dtype,
    Key::output_dtype, Key::output_layout,  Key::strides,           Key::output_strides};

std::string other_keywords(const PoolSpec& spec) {
  std::string text;
  for (const frontend::Keyword& keyword : frontend::keywords())
    if (keyword.is_set(spec) && std::ranges::find(told, keyword.key) == std::end(told))
      text += fmt::format("{}{}", text.empty() ? "" : " ", keyword.name);
  return text;
}

// Settings of the keywords after the window.
void add_options(const PoolSpec& spec, pooljit_layer& layer) {
  layer.unbatched = !spec.batch;
  layer.free_batch = spec.free_batch;
  layer.free_dims = free_dims_of(spec);
  layer.unpool = is_unpool(spec);
  layer.nan_ignore = spec.nan == ir::NanRule::ignore;
  layer.zeros_first = spec.zeros == ir::ZeroRule::first;
  layer.half_away = spec.rounding == ir::RoundingRule::half_away;
  layer.global = spec.global;
  layer.index_scope = frontend::name_of_choice(frontend::index_scopes(), spec.index_scope).data();
  layer.storage_order = spec.storage_order;
  layer.norm_type = spec.norm_type;
  layer.scale = spec.scale;
  layer.zero_point = spec.zero_point;
  layer.output_scale = spec.output_scale.value_or(0);
  layer.output_zero_point = spec.output_zero_point.value_or(0);
  layer.has_output_zero_point = spec.output_zero_point.has_value();
  layer.epilogue_steps = static_cast<int32_t>(spec.epilogue.size());
  pooljit_step* step = layer.epilogue;
  for (const ir::EpilogueStep& from : spec.epilogue)
    *step++ = {info(from.kind).text.data(),
               {from.numbers[0], from.numbers[1]},
               from.dtype ? info(*from.dtype).spec_name.data() : nullptr};
}

}  // namespace

pooljit_tensor tensor_of(const ir::View& view, const std::vector<int64_t>& shape, int64_t batch) {
  pooljit_tensor made = {};
  made.dtype = info(view.dtype).spec_name.data();
  made.layout = "";
  const size_t spatial = view.strides.size(), first = shape.size() - spatial;
  made.rank = static_cast<int32_t>(2 + spatial);
  made.channel_block = view.channel_block;
  made.dims[0] = batch, made.strides[0] = view.batch_stride;
  made.dims[1] = shape[first - 1], made.strides[1] = view.channel_stride;
  for (size_t d = 0; d < spatial; ++d)
    made.dims[2 + d] = shape[first + d], made.strides[2 + d] = view.strides[d];
  return made;
}

int32_t free_dims_of(const PoolSpec& spec) {
  int32_t bits = 0;
  for (size_t d = 0; d < spec.dims.size(); ++d) bits |= int32_t{spec.dims[d].is_free} << d;
  return bits;
}

void forget_sizes(const std::vector<int64_t>& known, bool has_strides, pooljit_tensor& tensor) {
  std::copy(known.end() - (tensor.rank - 2), known.end(), tensor.dims + 2);
  if (!has_strides) std::fill_n(tensor.strides, tensor.rank, 0);
  if (known.size() < static_cast<size_t>(tensor.rank))
    tensor.strides[0] = 0;  // to an image that would follow
}

LayerStruct::LayerStruct(const PoolSpec& spec)
    : text_(print(spec)), other_(other_keywords(spec)), nest_(make_nest(spec)) {
  layer_.size = sizeof layer_;
  layer_.spec = text_.c_str();
  layer_.operation = operation_names[static_cast<size_t>(spec.reduction)];
  layer_.backward = spec.direction == ir::Direction::backward;
  layer_.adaptive = is_adaptive(spec);
  layer_.quantized = spec.quantized;
  layer_.spatial_rank = static_cast<int32_t>(spec.dims.size());
  for (size_t d = 0; d < spec.dims.size(); ++d) {
    const SpecDim& dim = spec.dims[d];
    layer_.kernel[d] = dim.kernel, layer_.stride[d] = dim.stride, layer_.dilation[d] = dim.dilation;
    layer_.pad_begin[d] = dim.pad_begin, layer_.pad_end[d] = dim.pad_end;
  }
  layer_.ceil_mode = static_cast<int32_t>(spec.ceil_mode);
  layer_.count_exclude_pad = !spec.count_include_pad;
  layer_.divisor_override = spec.divisor_override.value_or(0);
  layer_.other = other_.c_str();
  const int64_t batch = spec.batch.value_or(1);
  layer_.input = tensor_of(nest_.input, input_shape(spec), batch);
  layer_.output = tensor_of(nest_.output, output_shape(spec), batch);
  layer_.input_order = frontend::layout_name(spec.layout).data();
  layer_.output_order = frontend::layout_name(frontend::output_layout(spec)).data();
  if (spec.strides.empty()) layer_.input.layout = layer_.input_order;
  if (spec.output_strides.empty()) layer_.output.layout = layer_.output_order;
  if (has_free_dims(spec)) {
    forget_sizes(known_input_shape(spec), !spec.strides.empty(), layer_.input);
    forget_sizes(known_output_shape(spec), !spec.output_strides.empty(), layer_.output);
  }
  layer_.indices = has_indices_like_output(spec) ? layer_.output : layer_.input;
  layer_.indices.dtype = nest_.indices ? info(nest_.indices->dtype).spec_name.data() : "";
  if (!nest_.indices) layer_.indices.rank = 0;
  add_options(spec, layer_);
}

PoolsStruct::PoolsStruct(const PoolSpec& spec) {
  const auto add = [&](const PoolSpec& pool) { members_.push_back(*layers_.emplace_back(pool).get()); };
  std::ranges::for_each(pools_of(spec), add);
  pools_.size = sizeof pools_;
  pools_.members = members_.data();
  pools_.member_count = static_cast<int32_t>(members_.size());
  pools_.concat = spec.concat;
  pools_.include_input = spec.include_input;
  if (!spec.concat) return;
  pools_.output = tensor_of(make_nest(spec).outputs()[0].output, output_shape(spec), spec.batch.value_or(1));
  pools_.output_order = frontend::layout_name(frontend::output_layout(spec)).data();
  if (spec.output_strides.empty()) pools_.output.layout = pools_.output_order;
  if (has_free_dims(spec))
    forget_sizes(known_output_shape(spec), !spec.output_strides.empty(), pools_.output);
}

}  // namespace pooljit::runtime
