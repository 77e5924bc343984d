#include "tools/engine_layer.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/keywords.h"

namespace pooljit::tools {
namespace {

using frontend::Key;
using frontend::PoolSpec;
using frontend::SpecDim;

// Keywords that a field of the layer tells of.
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

const char* operation(ir::Reduction reduction) {
  static constexpr const char* names[] = {
#define REDUCTION(name, text, note) text,
#include "ir/reductions.def"
#undef REDUCTION
  };
  return names[static_cast<size_t>(reduction)];
}

pooljit_engine_tensor tensor(const ir::View& view, const std::vector<int64_t>& shape, int64_t batch,
                             frontend::Layout layout, bool is_strided) {
  pooljit_engine_tensor made = {};
  made.dtype = info(view.dtype).spec_name.data();
  made.layout = is_strided ? "" : frontend::layout_name(layout).data();
  const size_t spatial = view.strides.size(), first = shape.size() - spatial;
  made.rank = static_cast<int32_t>(2 + spatial);
  made.channel_block = view.channel_block;
  made.dims[0] = batch, made.strides[0] = view.batch_stride;
  made.dims[1] = shape[first - 1], made.strides[1] = view.channel_stride;
  for (size_t d = 0; d < spatial; ++d)
    made.dims[2 + d] = shape[first + d], made.strides[2 + d] = view.strides[d];
  return made;
}

}  // namespace

EngineLayer::EngineLayer(const PoolSpec& spec)
    : text_(print(spec)), other_(other_keywords(spec)), nest_(make_nest(spec)) {
  layer_.version = POOLJIT_ENGINE_VERSION;
  layer_.spec = text_.c_str();
  layer_.operation = operation(spec.reduction);
  layer_.backward = nest_.is_backward();
  layer_.adaptive = is_adaptive(spec);
  layer_.quantized = spec.quantized;
  layer_.spatial_rank = static_cast<int32_t>(spec.dims.size());
  for (size_t d = 0; d < spec.dims.size(); ++d) {
    const SpecDim& dim = spec.dims[d];
    layer_.kernel[d] = dim.kernel, layer_.stride[d] = dim.stride, layer_.dilation[d] = dim.dilation;
    layer_.pad_begin[d] = dim.pad_begin, layer_.pad_end[d] = dim.pad_end;
  }
  layer_.ceil_mode = static_cast<int32_t>(spec.ceil_mode);
  layer_.count_include_pad = spec.count_include_pad;
  layer_.divisor_override = spec.divisor_override.value_or(0);
  layer_.other = other_.c_str();
  const int64_t batch = spec.batch.value_or(1);
  layer_.input = tensor(nest_.input, input_shape(spec), batch, spec.layout, !spec.strides.empty());
  layer_.output = tensor(nest_.output, output_shape(spec), batch, frontend::output_layout(spec),
                         !spec.output_strides.empty());
  layer_.indices = nest_.is_backward() ? layer_.input : layer_.output;
  layer_.indices.dtype = nest_.indices ? info(nest_.indices->dtype).spec_name.data() : "";
  if (!nest_.indices) layer_.indices.rank = 0;
}

}  // namespace pooljit::tools
