// PyTorch's own kernels through ATen, without gradients: max and avg pooling, adaptive ones too, of any
// strides, with indices. Where it has a form that writes into a given packed tensor, that is taken; elsewhere
// its results are copied.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/version.h>

#include <optional>
#include <string_view>

#include "adapter.h"

namespace {

using adapter::Refusal;
using Numbers = std::vector<int64_t>;

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

// What a call needs of a layer, which is not there any more when it is called.
struct Windows {
  int rank;
  bool is_max, is_adaptive;
  Numbers kernel, stride, padding, dilation, size;  // size: of adaptive outputs
  bool ceil, include;
  c10::optional<int64_t> divisor;
};

Windows windows_of(const pooljit_engine_layer& layer) {
  const auto numbers = [&](const int64_t* first) { return Numbers(first, first + layer.spatial_rank); };
  Windows w{.rank = layer.spatial_rank,
            .is_max = std::string_view(layer.operation) == "max",
            .is_adaptive = layer.adaptive != 0,
            .kernel = numbers(layer.kernel),
            .stride = numbers(layer.stride),
            .padding = numbers(layer.pad_begin),
            .dilation = numbers(layer.dilation),
            .size = numbers(layer.output.dims + 2),
            .ceil = layer.ceil_mode == 1,
            .include = layer.count_exclude_pad == 0,
            .divisor = {}};
  if (layer.divisor_override != 0) w.divisor = layer.divisor_override;
  return w;
}

struct Results {
  at::Tensor output, indices;
};

// Every layer that torch has, into new tensors.
Results pool(const Windows& w, const at::Tensor& x) {
  const int rank = w.rank;
  if (w.is_max) {
    const auto adaptive = rank == 1   ? at::adaptive_max_pool1d
                          : rank == 2 ? at::adaptive_max_pool2d
                                      : at::adaptive_max_pool3d;
    const auto fixed = rank == 1   ? at::max_pool1d_with_indices
                       : rank == 2 ? at::max_pool2d_with_indices
                                   : at::max_pool3d_with_indices;
    auto [output, indices] =
        w.is_adaptive ? adaptive(x, w.size) : fixed(x, w.kernel, w.stride, w.padding, w.dilation, w.ceil);
    return {output, indices};
  }
  const auto adaptive = rank == 1   ? at::adaptive_avg_pool1d
                        : rank == 2 ? at::adaptive_avg_pool2d
                                    : at::adaptive_avg_pool3d;
  if (w.is_adaptive) return {adaptive(x, w.size), {}};
  if (rank == 1) return {at::avg_pool1d(x, w.kernel, w.stride, w.padding, w.ceil, w.include), {}};
  const auto fixed = rank == 2 ? at::avg_pool2d : at::avg_pool3d;
  return {fixed(x, w.kernel, w.stride, w.padding, w.ceil, w.include, w.divisor), {}};
}

// The same in two or three dimensions, in place.
void pool_into(const Windows& w, const at::Tensor& x, at::Tensor& y, at::Tensor& indices) {
  const bool is_2d = w.rank == 2;
  if (w.is_max) {
    if (w.is_adaptive)
      (is_2d ? at::adaptive_max_pool2d_out : at::adaptive_max_pool3d_out)(y, indices, x, w.size);
    else
      (is_2d ? at::max_pool2d_with_indices_out : at::max_pool3d_with_indices_out)(
          y, indices, x, w.kernel, w.stride, w.padding, w.dilation, w.ceil);
  } else if (w.is_adaptive) {
    (is_2d ? at::adaptive_avg_pool2d_out : at::adaptive_avg_pool3d_out)(y, x, w.size);
  } else {
    (is_2d ? at::avg_pool2d_out : at::avg_pool3d_out)(y, x, w.kernel, w.stride, w.padding, w.ceil, w.include,
                                                      w.divisor);
  }
}

// In three dimensions torch writes NCHW into whatever it is given.
bool can_pool_into(const pooljit_engine_layer& layer) {
  const std::string_view layout = layer.input.layout;
  return layout == layer.output.layout &&
         ((layout == "nchw" && layer.spatial_rank > 1) || (layout == "nhwc" && layer.spatial_rank == 2));
}

void check(const pooljit_engine_layer& layer) {
  const std::string_view operation = layer.operation;
  if (operation != "max" && operation != "avg") throw Refusal("has no such operation");
  if (layer.ceil_mode == 2) throw Refusal("has another ceil mode");
  if (layer.input.channel_block != 1 || layer.output.channel_block != 1) throw Refusal("has no blocks");
  for (int d = 0; d < layer.spatial_rank; ++d) {
    if (layer.pad_begin[d] != layer.pad_end[d]) throw Refusal("pads both ends alike");
    if (operation == "avg" && !layer.adaptive && layer.dilation[d] != 1)
      throw Refusal("has no dilated average");
  }
  if (layer.spatial_rank == 1 && layer.divisor_override != 0) throw Refusal("has no divisor in 1-D");
}

}  // namespace

std::string adapter::version() { return "PyTorch " TORCH_VERSION ", its best ISA"; }

void adapter::start(int threads, bool /*only_avx2*/) { at::set_num_threads(threads); }

std::function<void()> adapter::prepare(const pooljit_engine_layer& layer, const Buffers& buffers) {
  check(layer);
  const auto type = type_of(layer.input.dtype);
  if (!type || type != type_of(layer.output.dtype)) throw Refusal("has no such type");
  const at::NoGradGuard no_gradients;
  const Windows w = windows_of(layer);
  const at::Tensor x = view_of(layer.input, const_cast<void*>(buffers.input), *type);
  at::Tensor y = view_of(layer.output, buffers.output, *type);
  // What was asked for; torch always writes indices.
  const at::Tensor asked =
      buffers.indices ? view_of(layer.indices, buffers.indices, *type_of(layer.indices.dtype)) : at::Tensor();
  at::Tensor indices = asked.defined() && asked.scalar_type() == at::kLong
                           ? asked
                           : at::empty_like(y, y.options().dtype(at::kLong));
  if (can_pool_into(layer) && (!asked.defined() || asked.is_same(indices)))
    return [w, x, y, indices]() mutable {
      const at::NoGradGuard quiet;
      pool_into(w, x, y, indices);
    };
  return [w, x, y, asked]() mutable {
    const at::NoGradGuard quiet;
    const Results made = pool(w, x);
    y.copy_(made.output);
    if (asked.defined()) asked.copy_(made.indices);
  };
}
