// PyTorch's own kernels through ATen, without gradients, in two and three dimensions. Where it has a form
// that writes into a given tensor, that is taken.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/version.h>

#include "bench/peers/peer.h"

namespace pooljit::bench {
namespace {

std::optional<at::ScalarType> scalar_type(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::f32:
      return at::kFloat;
    case ir::DType::f64:
      return at::kDouble;
    case ir::DType::bf16:
      return at::kBFloat16;
    default:
      return std::nullopt;
  }
}

struct Windows {
  std::vector<int64_t> kernel, stride, padding, dilation, adaptive;
};

// Nothing, if the padding is not one number per dim.
std::optional<Windows> windows(const frontend::PoolSpec& spec) {
  Windows found;
  for (const frontend::SpecDim& dim : spec.dims) {
    if (dim.pad_begin != dim.pad_end || 2 * dim.pad_begin > dim.kernel) return std::nullopt;
    found.kernel.push_back(dim.kernel);
    found.stride.push_back(dim.stride);
    found.padding.push_back(dim.pad_begin);
    found.dilation.push_back(dim.dilation);
    found.adaptive.push_back(dim.adaptive_output);
  }
  return found;
}

using Call = std::function<void()>;

Call max_call(const frontend::PoolSpec& spec, const Windows& w, const at::Tensor& x, at::Tensor y) {
  at::Tensor indices = at::empty_like(y, y.options().dtype(at::kLong));
  const bool ceil = spec.ceil_mode != frontend::CeilMode::floor;
  if (is_adaptive(spec) && spec.dims.size() == 2)
    return [=]() mutable { at::adaptive_max_pool2d_out(y, indices, x, w.adaptive); };
  if (is_adaptive(spec)) return [=]() mutable { at::adaptive_max_pool3d_out(y, indices, x, w.adaptive); };
  if (spec.dims.size() == 2)
    return [=]() mutable {
      at::max_pool2d_with_indices_out(y, indices, x, w.kernel, w.stride, w.padding, w.dilation, ceil);
    };
  return [=]() mutable {
    at::max_pool3d_with_indices_out(y, indices, x, w.kernel, w.stride, w.padding, w.dilation, ceil);
  };
}

Call average_call(const frontend::PoolSpec& spec, const Windows& w, const at::Tensor& x, at::Tensor y) {
  const bool ceil = spec.ceil_mode != frontend::CeilMode::floor;
  const bool include = spec.count_include_pad;
  const c10::optional<int64_t> divisor =
      spec.divisor_override ? c10::optional<int64_t>(*spec.divisor_override) : c10::nullopt;
  if (is_adaptive(spec) && spec.dims.size() == 2)
    return [=]() mutable { at::adaptive_avg_pool2d_out(y, x, w.adaptive); };
  if (is_adaptive(spec)) return [=]() mutable { at::adaptive_avg_pool3d_out(y, x, w.adaptive); };
  if (spec.dims.size() == 2)
    return [=]() mutable { at::avg_pool2d_out(y, x, w.kernel, w.stride, w.padding, ceil, include, divisor); };
  return [=]() mutable { at::avg_pool3d_out(y, x, w.kernel, w.stride, w.padding, ceil, include, divisor); };
}

class Torch final : public Peer {
 public:
  explicit Torch(const PeerOptions& options) { at::set_num_threads(options.threads); }

  std::string name() const override { return "torch"; }
  std::string version() const override { return TORCH_VERSION; }

  ir::Result<std::function<void()>> prepare(const frontend::PoolSpec& spec,
                                            const PeerTensors& tensors) override {
    const auto refuse = [](const std::string& why) {
      return ir::unsupported("bench.peer", "PyTorch " + why);
    };
    const auto type = scalar_type(spec.dtype);
    const auto found = windows(spec);
    const bool is_known = spec.reduction == ir::Reduction::max || spec.reduction == ir::Reduction::avg;
    if (!type || !found || !is_known || spec.dims.size() < 2 || spec.ceil_mode == frontend::CeilMode::plain)
      return refuse("has no such layer in two or three dimensions");
    for (const frontend::SpecDim& dim : spec.dims)
      if (spec.reduction == ir::Reduction::avg && dim.dilation != 1) return refuse("has no dilated average");
    const auto tensor = [&](std::byte* data, const auto& shape, const auto& strides) {
      return at::from_blob(data, shape, strides, at::TensorOptions().dtype(*type));
    };
    const at::Tensor x = tensor(const_cast<std::byte*>(tensors.input), frontend::input_shape(spec),
                                frontend::input_strides(spec));
    const at::Tensor y = tensor(tensors.output, frontend::output_shape(spec), frontend::output_strides(spec));
    const Call call = spec.reduction == ir::Reduction::max ? max_call(spec, *found, x, y)
                                                           : average_call(spec, *found, x, y);
    return std::function<void()>([call] {
      const at::NoGradGuard no_gradients;
      call();
    });
  }
};

}  // namespace

std::unique_ptr<Peer> make_torch(const PeerOptions& options) { return std::make_unique<Torch>(options); }

}  // namespace pooljit::bench
