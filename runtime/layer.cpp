#include "runtime/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "frontend/check.h"
#include "frontend/keywords.h"
#include "frontend/operators.h"
#include "frontend/text.h"
#include "runtime/float_control.h"

namespace pooljit::runtime {
namespace {

using frontend::Key;
using frontend::PoolSpec;
using frontend::SpecDim;

// In the order of ir::Reduction.
constexpr const char* operation_names[] = {
#define REDUCTION(name, text, note) text,
#include "ir/reductions.def"
#undef REDUCTION
};

// Keywords that a field of the first version tells of.
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

// Those behind pooljit 0.1.0's.
void add_later_fields(const PoolSpec& spec, pooljit_layer& layer) {
  layer.unbatched = !spec.batch;
  layer.free_batch = spec.free_batch;
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

Layer::Layer(const PoolSpec& spec)
    : text_(print(spec)), other_(other_keywords(spec)), nest_(make_nest(spec)) {
  layer_.version = POOLJIT_LAYER_VERSION;
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
  layer_.count_include_pad = spec.count_include_pad;
  layer_.divisor_override = spec.divisor_override.value_or(0);
  layer_.other = other_.c_str();
  const int64_t batch = spec.batch.value_or(1);
  layer_.input = tensor_of(nest_.input, input_shape(spec), batch);
  layer_.output = tensor_of(nest_.output, output_shape(spec), batch);
  layer_.input_order = frontend::layout_name(spec.layout).data();
  layer_.output_order = frontend::layout_name(frontend::output_layout(spec)).data();
  if (spec.strides.empty()) layer_.input.layout = layer_.input_order;
  if (spec.output_strides.empty()) layer_.output.layout = layer_.output_order;
  layer_.indices = has_indices_like_output(spec) ? layer_.output : layer_.input;
  layer_.indices.dtype = nest_.indices ? info(nest_.indices->dtype).spec_name.data() : "";
  if (!nest_.indices) layer_.indices.rank = 0;
  add_later_fields(spec, layer_);
}

// --- and back

namespace {

using Broken = std::optional<ir::Error>;

Broken wrong_field(std::string_view field, std::string_view got, std::string hint) {
  return ir::Error{ir::ErrorKind::invalid, "layer.field", fmt::format("{} is {}", field, got),
                   std::move(hint)};
}

std::string_view text_of(const char* text) { return text ? text : ""; }

// The row that has the name; else an error that names the field.
template <typename Name, typename T>
Broken find_name(std::string_view field, std::string_view word, std::span<const Name> names, T& number) {
  const auto found = std::ranges::find(names, word);
  if (found != names.end()) {
    number = static_cast<T>(found - names.begin());
    return std::nullopt;
  }
  return wrong_field(field, fmt::format("\"{}\"", word), fmt::format("one of {}", fmt::join(names, ", ")));
}

Broken read_dtype(std::string_view field, const char* name, ir::DType& dtype) {
  const auto found = ir::find_dtype(text_of(name));
  if (found && ir::info(*found).tensor) {
    dtype = *found;
    return std::nullopt;
  }
  std::vector<std::string_view> names;
  for (const ir::DTypeInfo& row : ir::dtype_table)
    if (row.tensor) names.push_back(row.spec_name);
  return wrong_field(field, fmt::format("\"{}\"", text_of(name)),
                     fmt::format("one of {}", fmt::join(names, ", ")));
}

// The layout that a spec's text would name.
Broken read_layout(std::string_view field, const pooljit_tensor& tensor, const char* order,
                   frontend::Layout& layout) {
  std::string_view name = text_of(tensor.layout);
  if (name.empty()) name = text_of(order);
  if (name.empty())
    name = tensor.channel_block == 8 ? "nchw8c" : tensor.channel_block == 16 ? "nchw16c" : "nchw";
  const auto found = frontend::find_layout(name, 2);
  if (!found)
    return wrong_field(field, fmt::format("\"{}\"", name),
                       "nchw, nhwc, nchw8c or nchw16c, whatever the rank");
  layout = *found;
  return std::nullopt;
}

// Empty: packed in the layout.
std::vector<int64_t> explicit_strides(const pooljit_tensor& tensor, const PoolSpec& spec) {
  const size_t rank = 2 + spec.dims.size(), first = spec.batch ? 0 : 1;
  const std::span strides(tensor.strides + first, rank - first);
  const bool is_packed = !text_of(tensor.layout).empty() ||
                         std::ranges::all_of(strides, [](int64_t stride) { return stride == 0; });
  return is_packed ? std::vector<int64_t>() : std::vector<int64_t>(strides.begin(), strides.end());
}

// What fields that count the others say.
Broken check_counts(const pooljit_layer& layer) {
  const auto number = [](std::string_view field, int64_t value, std::string hint) {
    return wrong_field(field, fmt::format("{}", value), std::move(hint));
  };
  if (layer.spatial_rank < 1 || layer.spatial_rank > int32_t{frontend::max_rank})
    return number("spatial_rank", layer.spatial_rank, "1 to 3");
  const int32_t rank = 2 + layer.spatial_rank;
  if (layer.input.rank != 0 && layer.input.rank != rank)
    return number("input.rank", layer.input.rank, fmt::format("{}, or 0", rank));
  if (layer.output.rank != 0 && layer.output.rank != rank)
    return number("output.rank", layer.output.rank, fmt::format("{}, or 0", rank));
  if (layer.output.rank == 0 && (layer.backward || layer.adaptive))
    return number("output.rank", 0, "backward and adaptive layers need output.dims");
  if (layer.epilogue_steps < 0 || layer.epilogue_steps > POOLJIT_LAYER_MAX_STEPS)
    return number("epilogue_steps", layer.epilogue_steps, "0 to 4");
  if (layer.ceil_mode < 0 || layer.ceil_mode > 2)
    return number("ceil_mode", layer.ceil_mode, "0 floor, 1 as torch, 2 plain ceil");
  if (layer.global && (layer.adaptive || layer.backward || layer.unpool))
    return number("global", layer.global, "adaptive, backward or unpool is set too");
  if (layer.unbatched && layer.free_batch)
    return number("free_batch", layer.free_batch, "unbatched is set too");
  return std::nullopt;
}

void read_dims(const pooljit_layer& layer, PoolSpec& spec) {
  // What windows lie on, or what an unpool reads; and the other one.
  const pooljit_tensor& windows = layer.backward ? layer.output : layer.input;
  const pooljit_tensor& other = layer.backward ? layer.input : layer.output;
  if (!layer.unbatched) spec.batch = layer.free_batch ? 1 : windows.dims[0];
  spec.free_batch = layer.free_batch != 0;
  spec.channels = windows.dims[1];
  spec.dims.resize(size_t(layer.spatial_rank));
  for (size_t d = 0; d < spec.dims.size(); ++d) {
    SpecDim& dim = spec.dims[d];
    dim.input = windows.dims[2 + d];
    if (layer.global) {
      dim.kernel = dim.stride = dim.input;
      continue;
    }
    if (layer.adaptive) dim.adaptive_output = other.dims[2 + d];
    if (layer.unpool && other.rank != 0) dim.unpool_output = other.dims[2 + d];
    if (layer.adaptive && layer.kernel[d] == 0) continue;
    dim.kernel = layer.kernel[d];
    dim.stride = layer.stride[d] == 0 ? dim.kernel : layer.stride[d];
    dim.dilation = layer.dilation[d] == 0 ? 1 : layer.dilation[d];
    dim.pad_begin = layer.pad_begin[d], dim.pad_end = layer.pad_end[d];
  }
}

Broken read_tensors(const pooljit_layer& layer, PoolSpec& spec) {
  if (auto error = read_dtype("input.dtype", layer.input.dtype, spec.dtype)) return error;
  if (auto error = read_layout("input.layout", layer.input, layer.input_order, spec.layout)) return error;
  spec.strides = explicit_strides(layer.input, spec);
  ir::DType dtype = spec.dtype;
  if (!text_of(layer.output.dtype).empty())
    if (auto error = read_dtype("output.dtype", layer.output.dtype, dtype)) return error;
  if (dtype != spec.dtype) spec.output_dtype = dtype;
  frontend::Layout layout = spec.layout;
  const bool is_said = !text_of(layer.output.layout).empty() || !text_of(layer.output_order).empty() ||
                       layer.output.channel_block > 1;
  spec.output_strides = explicit_strides(layer.output, spec);
  if (is_said || !spec.output_strides.empty())
    if (auto error = read_layout("output.layout", layer.output, layer.output_order, layout)) return error;
  if (layout != spec.layout) spec.output_layout = layout;
  return std::nullopt;
}

Broken read_indices(const pooljit_layer& layer, PoolSpec& spec) {
  const auto scopes = frontend::index_scopes();
  const std::string_view scope = text_of(layer.index_scope);
  const auto found =
      std::ranges::find_if(scopes, [&](const auto& row) { return scope.empty() || row.name == scope; });
  if (found == scopes.end())
    return wrong_field("index_scope", fmt::format("\"{}\"", scope),
                       "plane, tensor, nhwc, nhwc_batch or window");
  spec.index_scope = found->value;
  spec.storage_order = layer.storage_order;
  if (text_of(layer.indices.dtype).empty()) return std::nullopt;
  spec.return_indices = spec.direction == ir::Direction::forward;
  return read_dtype("indices.dtype", layer.indices.dtype, spec.index_dtype);
}

Broken read_epilogue(const pooljit_layer& layer, PoolSpec& spec) {
  std::vector<std::string_view> names;
  for (const ir::StepInfo& row : ir::step_table) names.push_back(row.text);
  for (int32_t i = 0; i < layer.epilogue_steps; ++i) {
    const pooljit_step& from = layer.epilogue[i];
    ir::EpilogueStep& step = spec.epilogue.emplace_back();
    const std::string field = fmt::format("epilogue[{}]", i);
    if (auto error = find_name(field + ".name", text_of(from.name), std::span<const std::string_view>(names),
                               step.kind))
      return error;
    const ir::StepInfo& row = info(step.kind);
    for (size_t n = 0; n < step.numbers.size(); ++n) {
      if (n >= row.numbers && from.numbers[n] != 0)
        return wrong_field(fmt::format("{}.numbers[{}]", field, n), fmt::format("{}", from.numbers[n]),
                           fmt::format("0: the step is {}{}", row.text, row.arguments));
      if (n < row.numbers) step.numbers[n] = from.numbers[n];
    }
    if (text_of(from.dtype).empty()) continue;
    if (!row.takes_dtype)
      return wrong_field(field + ".dtype", fmt::format("\"{}\"", from.dtype), "only add takes one");
    if (auto error = read_dtype(field + ".dtype", from.dtype, step.dtype.emplace())) return error;
  }
  return std::nullopt;
}

Broken read_options(const pooljit_layer& layer, PoolSpec& spec) {
  if (auto error = find_name("operation", text_of(layer.operation),
                             std::span<const char* const>(operation_names), spec.reduction))
    return error;
  spec.direction = layer.backward ? ir::Direction::backward
                   : layer.unpool ? ir::Direction::unpool
                                  : ir::Direction::forward;
  spec.global = layer.global != 0;
  spec.unpool_gradient = layer.backward && layer.unpool;
  spec.quantized = layer.quantized != 0;
  spec.ceil_mode = static_cast<frontend::CeilMode>(layer.ceil_mode);
  // Zero is a value of this field, which others than averages do not have.
  const frontend::Operator* op = find_operator(spec);
  if (op && op->allows(Key::count_include_pad)) spec.count_include_pad = layer.count_include_pad != 0;
  if (layer.divisor_override != 0) spec.divisor_override = layer.divisor_override;
  if (layer.nan_ignore) spec.nan = ir::NanRule::ignore;
  if (layer.zeros_first) spec.zeros = ir::ZeroRule::first;
  if (layer.half_away) spec.rounding = ir::RoundingRule::half_away;
  if (layer.norm_type != 0) spec.norm_type = layer.norm_type;
  if (layer.scale != 0) spec.scale = layer.scale;
  spec.zero_point = layer.zero_point;
  if (layer.output_scale != 0) spec.output_scale = layer.output_scale;
  if (layer.has_output_zero_point) spec.output_zero_point = layer.output_zero_point;
  return std::nullopt;
}

// Dims that follow from others, where they are given all the same.
Broken compare_dims(std::string_view field, const pooljit_tensor& tensor, const std::vector<int64_t>& shape,
                    bool is_batched) {
  if (tensor.rank == 0) return std::nullopt;
  for (size_t d = 0; d < shape.size(); ++d) {
    const size_t at = d + (is_batched ? 0 : 1);
    if (tensor.dims[at] != shape[d])
      return wrong_field(fmt::format("{}.dims[{}]", field, at), fmt::format("{}", tensor.dims[at]),
                         fmt::format("the other fields make it {}", shape[d]));
  }
  return std::nullopt;
}

// The fields that there are, the rest 0.
Broken read_size(const pooljit_layer& given, pooljit_layer& layer) {
  constexpr size_t least = offsetof(pooljit_layer, unbatched);
  const auto wrong = [&](std::string message, std::string hint) {
    return ir::Error{ir::ErrorKind::invalid, "layer.size", std::move(message), std::move(hint)};
  };
  if (given.size < least)
    return wrong(fmt::format("size is {}", given.size),
                 "layer.size = sizeof layer, and 0 in what is not set");
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&given);
  if (given.size > sizeof layer &&
      std::any_of(bytes + sizeof layer, bytes + given.size, [](unsigned char byte) { return byte != 0; }))
    return wrong(fmt::format("size is {}, and a field that this library does not know is set", given.size),
                 "install a newer pooljit");
  std::memcpy(&layer, &given, std::min(size_t{given.size}, sizeof layer));
  return std::nullopt;
}

}  // namespace

ir::Result<PoolSpec> spec_of(const pooljit_layer& given) {
  const FloatControl control;
  pooljit_layer layer = {};
  PoolSpec spec;
  Broken error = read_size(given, layer);
  if (!error) error = check_counts(layer);
  if (!error) read_dims(layer, spec);
  if (!error) error = read_options(layer, spec);
  if (!error) error = read_tensors(layer, spec);
  if (!error) error = read_indices(layer, spec);
  if (!error) error = read_epilogue(layer, spec);
  if (error) return tl::unexpected<ir::Error>(std::move(*error));
  auto checked = frontend::check_spec(std::move(spec));
  if (!checked) return checked;
  const bool is_batched = checked->batch.has_value();
  if (layer.backward) error = compare_dims("input", layer.input, input_shape(*checked), is_batched);
  if (!error) error = compare_dims("output", layer.output, output_shape(*checked), is_batched);
  if (error) return tl::unexpected<ir::Error>(std::move(*error));
  return checked;
}

}  // namespace pooljit::runtime
