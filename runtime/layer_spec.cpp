// The spec that a layer as data says: every field is read, or refused where nothing reads it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "frontend/check.h"
#include "frontend/keywords.h"
#include "runtime/float_control.h"
#include "runtime/layer.h"
#include "runtime/layer_fields.h"

namespace pooljit::runtime {
namespace {

using frontend::PoolSpec;
using frontend::SpecDim;

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
  const auto found = ir::find_dtype(text_or_empty(name));
  if (found && ir::info(*found).tensor) {
    dtype = *found;
    return std::nullopt;
  }
  std::vector<std::string_view> names;
  for (const ir::DTypeInfo& row : ir::dtype_table)
    if (row.tensor) names.push_back(row.spec_name);
  return wrong_field(field, fmt::format("\"{}\"", text_or_empty(name)),
                     fmt::format("one of {}", fmt::join(names, ", ")));
}

// Fields that count others.
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
  if (layer.free_dims < 0 || layer.free_dims >> layer.spatial_rank != 0)
    return number("free_dims", layer.free_dims,
                  fmt::format("one bit for each of {} spatial dims", layer.spatial_rank));
  return std::nullopt;
}

// Entries that a layer of this rank does not use are 0.
Broken check_behind(std::string_view field, std::span<const int64_t> values, size_t used) {
  for (size_t i = used; i < values.size(); ++i)
    if (values[i] != 0)
      return wrong_field(fmt::format("{}[{}]", field, i), fmt::format("{}", values[i]),
                         fmt::format("0: the layer has {} of them", used));
  return std::nullopt;
}

// An adaptive layer has no window: 0 or what pooljit_spec_layer writes there.
Broken check_no_window(const pooljit_layer& layer) {
  for (int32_t d = 0; d < layer.spatial_rank; ++d)
    for (const auto& [name, value, usual] :
         {std::tuple("kernel", layer.kernel[d], 1), std::tuple("stride", layer.stride[d], 1),
          std::tuple("dilation", layer.dilation[d], 1), std::tuple("pad_begin", layer.pad_begin[d], 0),
          std::tuple("pad_end", layer.pad_end[d], 0)})
      if (value != 0 && value != usual)
        return wrong_field(fmt::format("{}[{}]", name, d), fmt::format("{}", value),
                           "0: adaptive layers have no window");
  return std::nullopt;
}

Broken check_tensor_use(std::string_view name, const pooljit_tensor& tensor, const pooljit_layer& layer) {
  const size_t rank = 2 + size_t(layer.spatial_rank);
  if (auto error = check_behind(fmt::format("{}.dims", name), tensor.dims, rank)) return error;
  if (auto error = check_behind(fmt::format("{}.strides", name), tensor.strides, rank)) return error;
  if ((layer.unbatched || layer.free_batch) && tensor.dims[0] != 0 && tensor.dims[0] != 1)
    return wrong_field(
        fmt::format("{}.dims[0]", name), fmt::format("{}", tensor.dims[0]),
        layer.unbatched ? "0 or 1: unbatched is set" : "0 or 1: free_batch leaves N to each run");
  return std::nullopt;
}

// Nothing that is set is ignored: what nothing would read is refused.
Broken check_use(const pooljit_layer& layer) {
  const auto rank = static_cast<size_t>(layer.spatial_rank);
  for (const auto& [name, values] : {std::pair("kernel", std::span<const int64_t>(layer.kernel)),
                                     std::pair("stride", std::span<const int64_t>(layer.stride)),
                                     std::pair("dilation", std::span<const int64_t>(layer.dilation)),
                                     std::pair("pad_begin", std::span<const int64_t>(layer.pad_begin)),
                                     std::pair("pad_end", std::span<const int64_t>(layer.pad_end))})
    if (auto error = check_behind(name, values, rank)) return error;
  for (const auto& [name, tensor] : {std::pair("input", &layer.input), std::pair("output", &layer.output),
                                     std::pair("indices", &layer.indices)})
    if (auto error = check_tensor_use(name, *tensor, layer)) return error;
  for (const auto& [name, value] :
       {std::pair("backward", layer.backward), std::pair("adaptive", layer.adaptive),
        std::pair("quantized", layer.quantized), std::pair("count_exclude_pad", layer.count_exclude_pad),
        std::pair("unbatched", layer.unbatched), std::pair("free_batch", layer.free_batch),
        std::pair("unpool", layer.unpool), std::pair("nan_ignore", layer.nan_ignore),
        std::pair("zeros_first", layer.zeros_first), std::pair("half_away", layer.half_away),
        std::pair("has_output_zero_point", layer.has_output_zero_point), std::pair("global", layer.global)})
    if (auto error = check_flag(name, value)) return error;
  if (layer.adaptive)
    if (auto error = check_no_window(layer)) return error;
  if (layer.output_zero_point != 0 && !layer.has_output_zero_point)
    return wrong_field("output_zero_point", fmt::format("{}", layer.output_zero_point),
                       "has_output_zero_point = 1");
  for (int32_t i = layer.epilogue_steps; i < POOLJIT_LAYER_MAX_STEPS; ++i) {
    const pooljit_step& step = layer.epilogue[i];
    if (step.name || step.dtype || step.numbers[0] != 0 || step.numbers[1] != 0)
      return wrong_field(fmt::format("epilogue[{}]", i), "set",
                         fmt::format("epilogue_steps = {}, or nothing in it", i + 1));
  }
  return std::nullopt;
}

// A free dim has no extent.
Broken check_free_dims(const pooljit_layer& layer) {
  const auto& [name, windows] =
      layer.backward ? std::pair("output", &layer.output) : std::pair("input", &layer.input);
  for (int32_t d = 0; d < layer.spatial_rank; ++d)
    if ((layer.free_dims >> d & 1) != 0 && windows->dims[2 + d] != 0)
      return wrong_field(fmt::format("{}.dims[{}]", name, 2 + d), fmt::format("{}", windows->dims[2 + d]),
                         "0: free_dims leaves it to each run");
  return std::nullopt;
}

void read_dims(const pooljit_layer& layer, PoolSpec& spec) {
  // The tensor that windows lie on, or that an unpool reads; and the other one.
  const pooljit_tensor& windows = layer.backward ? layer.output : layer.input;
  const pooljit_tensor& other = layer.backward ? layer.input : layer.output;
  if (!layer.unbatched) spec.batch = layer.free_batch ? 1 : windows.dims[0];
  spec.free_batch = layer.free_batch != 0;
  spec.channels = windows.dims[1];
  spec.dims.resize(size_t(layer.spatial_rank));
  for (size_t d = 0; d < spec.dims.size(); ++d) {
    SpecDim& dim = spec.dims[d];
    dim.is_free = (layer.free_dims >> d & 1) != 0;
    dim.input = dim.is_free ? 1 : windows.dims[2 + d];
    if (layer.global) {
      dim.kernel = dim.stride = dim.input;
      continue;
    }
    if (layer.unpool && other.rank != 0) dim.unpool_output = other.dims[2 + d];
    if (layer.adaptive) {
      dim.adaptive_output = other.dims[2 + d];
      continue;
    }
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
  if (!text_or_empty(layer.output.dtype).empty())
    if (auto error = read_dtype("output.dtype", layer.output.dtype, dtype)) return error;
  if (dtype != spec.dtype) spec.output_dtype = dtype;
  return read_output_place(layer.output, layer.output_order, spec);
}

Broken read_indices(const pooljit_layer& layer, PoolSpec& spec) {
  const auto scopes = frontend::index_scopes();
  const std::string_view scope = text_or_empty(layer.index_scope);
  const auto found =
      std::ranges::find_if(scopes, [&](const auto& row) { return scope.empty() || row.name == scope; });
  if (found == scopes.end())
    return wrong_field("index_scope", fmt::format("\"{}\"", scope),
                       "plane, tensor, nhwc, nhwc_batch or window");
  spec.index_scope = found->value;
  spec.storage_order = layer.storage_order;
  if (text_or_empty(layer.indices.dtype).empty()) return std::nullopt;
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
    if (auto error = find_name(field + ".name", text_or_empty(from.name),
                               std::span<const std::string_view>(names), step.kind))
      return error;
    const ir::StepInfo& row = info(step.kind);
    for (size_t n = 0; n < step.numbers.size(); ++n) {
      if (n >= row.numbers && from.numbers[n] != 0)
        return wrong_field(fmt::format("{}.numbers[{}]", field, n), fmt::format("{}", from.numbers[n]),
                           fmt::format("0: the step is {}{}", row.text, row.arguments));
      if (n < row.numbers) step.numbers[n] = from.numbers[n];
    }
    if (text_or_empty(from.dtype).empty()) continue;
    if (!row.takes_dtype)
      return wrong_field(field + ".dtype", fmt::format("\"{}\"", from.dtype), "only add takes one");
    if (auto error = read_dtype(field + ".dtype", from.dtype, step.dtype.emplace())) return error;
  }
  return std::nullopt;
}

Broken read_options(const pooljit_layer& layer, PoolSpec& spec) {
  if (auto error = find_name("operation", text_or_empty(layer.operation),
                             std::span<const char* const>(operation_names), spec.reduction))
    return error;
  spec.direction = layer.backward ? ir::Direction::backward
                   : layer.unpool ? ir::Direction::unpool
                                  : ir::Direction::forward;
  spec.global = layer.global != 0;
  spec.unpool_gradient = layer.backward && layer.unpool;
  spec.quantized = layer.quantized != 0;
  spec.ceil_mode = static_cast<frontend::CeilMode>(layer.ceil_mode);
  spec.count_include_pad = layer.count_exclude_pad == 0;
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

Broken compare_tensors(const pooljit_layer& layer, const PoolSpec& spec) {
  const auto input = known_input_shape(spec), output = known_output_shape(spec);
  auto input_at = input_strides(spec), output_at = output_strides(spec);
  if (has_free_dims(spec) && spec.strides.empty()) std::ranges::fill(input_at, 0);
  if (has_free_dims(spec) && spec.output_strides.empty()) std::ranges::fill(output_at, 0);
  const bool is_batched = spec.batch.has_value(), like_output = has_indices_like_output(spec);
  if (auto error = compare_tensor("input", layer.input, is_batched, input, input_at)) return error;
  if (auto error = compare_tensor("output", layer.output, is_batched, output, output_at)) return error;
  return compare_tensor("indices", layer.indices, is_batched, like_output ? output : input,
                        like_output ? output_at : input_at);
}

}  // namespace

ir::Result<PoolSpec> spec_of(const pooljit_layer& given) {
  const FloatControl control;
  pooljit_layer layer = {};
  PoolSpec spec;
  Broken error = read_size("layer", given, layer);
  if (!error) error = check_counts(layer);
  if (!error) error = check_use(layer);
  if (!error) error = check_free_dims(layer);
  if (!error) read_dims(layer, spec);
  if (!error) error = read_options(layer, spec);
  if (!error) error = read_tensors(layer, spec);
  if (!error) error = read_indices(layer, spec);
  if (!error) error = read_epilogue(layer, spec);
  if (error) return tl::unexpected<ir::Error>(std::move(*error));
  auto checked = frontend::check_spec(std::move(spec), frontend::FreeDims::allowed);
  if (!checked) return checked;
  if (auto wrong = compare_tensors(layer, *checked)) return tl::unexpected<ir::Error>(std::move(*wrong));
  return checked;
}

}  // namespace pooljit::runtime
