// libtorch as `pooljit fuzz --against` sees it: max and avg pooling, adaptive ones too, of any strides, with
// indices.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <optional>
#include <string_view>

#include "pooljit_engine.h"

namespace {

std::optional<at::ScalarType> type_of(std::string_view dtype) {
  if (dtype == "float32") return at::kFloat;
  if (dtype == "float64") return at::kDouble;
  if (dtype == "bfloat16") return at::kBFloat16;
  if (dtype == "uint8") return at::kByte;
  if (dtype == "int8") return at::kChar;
  if (dtype == "int16") return at::kShort;
  if (dtype == "int32") return at::kInt;
  if (dtype == "int64") return at::kLong;
  return std::nullopt;
}

at::Tensor view_of(const pooljit_engine_tensor& tensor, void* memory, at::ScalarType type) {
  return at::from_blob(memory, at::IntArrayRef(tensor.dims, tensor.rank),
                       at::IntArrayRef(tensor.strides, tensor.rank), at::TensorOptions().dtype(type));
}

struct Results {
  at::Tensor output, indices;
};

// Undefined tensors: torch has no such layer.
Results pool_windows(const pooljit_engine_layer& layer, const at::Tensor& input) {
  const auto numbers = [&](const int64_t* first) { return at::IntArrayRef(first, layer.spatial_rank); };
  const auto kernel = numbers(layer.kernel), stride = numbers(layer.stride),
             padding = numbers(layer.pad_begin), dilation = numbers(layer.dilation);
  const bool ceil = layer.ceil_mode == 1;
  if (std::string_view(layer.operation) == "max") {
    const auto max = layer.spatial_rank == 1   ? at::max_pool1d_with_indices
                     : layer.spatial_rank == 2 ? at::max_pool2d_with_indices
                                               : at::max_pool3d_with_indices;
    auto [output, indices] = max(input, kernel, stride, padding, dilation, ceil);
    return {output, indices};
  }
  for (const int64_t one : dilation)
    if (one != 1) return {};
  const bool include = layer.count_include_pad != 0;
  if (layer.spatial_rank == 1) {
    if (layer.divisor_override != 0) return {};
    return {at::avg_pool1d(input, kernel, stride, padding, ceil, include), {}};
  }
  const auto divisor =
      layer.divisor_override != 0 ? c10::optional<int64_t>(layer.divisor_override) : c10::nullopt;
  const auto avg = layer.spatial_rank == 2 ? at::avg_pool2d : at::avg_pool3d;
  return {avg(input, kernel, stride, padding, ceil, include, divisor), {}};
}

Results pool_adaptive(const pooljit_engine_layer& layer, const at::Tensor& input) {
  const at::IntArrayRef size(layer.output.dims + 2, layer.spatial_rank);
  if (std::string_view(layer.operation) == "max") {
    const auto max = layer.spatial_rank == 1   ? at::adaptive_max_pool1d
                     : layer.spatial_rank == 2 ? at::adaptive_max_pool2d
                                               : at::adaptive_max_pool3d;
    auto [output, indices] = max(input, size);
    return {output, indices};
  }
  const auto avg = layer.spatial_rank == 1   ? at::adaptive_avg_pool1d
                   : layer.spatial_rank == 2 ? at::adaptive_avg_pool2d
                                             : at::adaptive_avg_pool3d;
  return {avg(input, size), {}};
}

int pool(const pooljit_engine_layer& layer, void* input, void* output, void* indices) {
  const std::string_view operation = layer.operation;
  const auto type = type_of(layer.input.dtype);
  if (!type || type != type_of(layer.output.dtype) || (operation != "max" && operation != "avg"))
    return POOLJIT_ENGINE_UNSUPPORTED;
  for (int d = 0; d < layer.spatial_rank; ++d)
    if (layer.pad_begin[d] != layer.pad_end[d]) return POOLJIT_ENGINE_UNSUPPORTED;
  static const bool is_set_up = (at::set_num_threads(1), true);
  (void)is_set_up;
  const at::Tensor from = view_of(layer.input, input, *type);
  const Results made = layer.adaptive ? pool_adaptive(layer, from) : pool_windows(layer, from);
  if (!made.output.defined()) return POOLJIT_ENGINE_UNSUPPORTED;
  view_of(layer.output, output, *type).copy_(made.output);
  if (indices) view_of(layer.indices, indices, *type_of(layer.indices.dtype)).copy_(made.indices);
  return POOLJIT_ENGINE_DONE;
}

}  // namespace

int pooljit_engine_run(const pooljit_engine_layer* layer, const void* input, void* output, void* indices) {
  if (layer->version != POOLJIT_ENGINE_VERSION || layer->backward || layer->quantized ||
      layer->ceil_mode == 2 || layer->input.channel_block != 1 || layer->output.channel_block != 1 ||
      layer->other[0] != '\0')
    return POOLJIT_ENGINE_UNSUPPORTED;
  try {
    return pool(*layer, const_cast<void*>(input), output, indices);
  } catch (const c10::Error&) {
    return POOLJIT_ENGINE_UNSUPPORTED;  // it says so itself
  }
}
