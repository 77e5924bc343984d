// Our kernels behind PyTorch's own operators of the CPU. Gradients, their gradients, tracing and transforms
// stay PyTorch's: the operators of the key CPU lie below them. The composite ones (max_pool2d,
// adaptive_avg_pool2d, ...) are replaced too, so that no indices are made where nobody asks for them; where a
// gradient may be asked for, they are PyTorch's. Results have the memory format of PyTorch's, which its
// gradients rely on.
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_adaptive_avg_pool2d_cpu_dispatch.h>
#include <ATen/ops/_adaptive_avg_pool3d_cpu_dispatch.h>
#include <ATen/ops/adaptive_avg_pool2d_native.h>
#include <ATen/ops/adaptive_avg_pool3d_native.h>
#include <ATen/ops/adaptive_max_pool2d_cpu_dispatch.h>
#include <ATen/ops/adaptive_max_pool3d_cpu_dispatch.h>
#include <ATen/ops/avg_pool2d_backward_cpu_dispatch.h>
#include <ATen/ops/avg_pool2d_cpu_dispatch.h>
#include <ATen/ops/avg_pool3d_backward_cpu_dispatch.h>
#include <ATen/ops/avg_pool3d_cpu_dispatch.h>
#include <ATen/ops/max_pool1d_native.h>
#include <ATen/ops/max_pool2d_native.h>
#include <ATen/ops/max_pool2d_with_indices_backward_cpu_dispatch.h>
#include <ATen/ops/max_pool2d_with_indices_cpu_dispatch.h>
#include <ATen/ops/max_pool3d_native.h>
#include <ATen/ops/max_pool3d_with_indices_backward_cpu_dispatch.h>
#include <ATen/ops/max_pool3d_with_indices_cpu_dispatch.h>
#include <ATen/ops/max_unpool2d_cpu_dispatch.h>
#include <ATen/ops/max_unpool3d_cpu_dispatch.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <tuple>

#include "bindings/python/src/torch_pooling.h"
#include "bindings/python/src/torch_tensors.h"

namespace pooljit::python {
namespace {

using at::IntArrayRef;
using at::Tensor;
using Divisor = c10::optional<int64_t>;
using TwoTensors = std::tuple<Tensor, Tensor>;

const TorchPooling* kernels = nullptr;
thread_local int contexts = 0;
std::atomic<bool> is_enabled = false;
// backward() may run after the context of its forward pass, and in another thread.
std::atomic<bool> is_backward_ours = false;

bool is_on() { return is_enabled.load(std::memory_order_relaxed) || contexts > 0; }

// As PyTorch reads it: one number is for all dimensions.
bool expand(IntArrayRef given, int rank, std::array<int64_t, 3>& numbers) {
  if (given.size() != 1 && given.size() != static_cast<size_t>(rank)) return false;
  for (int i = 0; i < rank; ++i) numbers[i] = given.size() == 1 ? given[0] : given[i];
  return true;
}

struct Arguments {
  IntArrayRef kernel_size, stride, padding, dilation;
  bool ceil_mode = false, count_include_pad = true;
  Divisor divisor;
};

// False for what PyTorch refuses: it has the words for it.
bool set_window(PoolRequest& request, const Arguments& given) {
  const int rank = request.rank;
  if (!expand(given.kernel_size, rank, request.kernel_size) ||
      !expand(given.stride.empty() ? given.kernel_size : given.stride, rank, request.stride) ||
      !expand(given.padding, rank, request.padding) || !expand(given.dilation, rank, request.dilation))
    return false;
  for (int i = 0; i < rank; ++i)
    if (request.padding[i] < 0 || request.kernel_size[i] < 1 ||
        request.padding[i] > request.kernel_size[i] / 2)
      return false;
  if (given.divisor && *given.divisor == 0) return false;
  request.ceil_mode = given.ceil_mode;
  request.count_include_pad = given.count_include_pad;
  request.divisor = given.divisor.value_or(0);
  return true;
}

// The memory format that PyTorch's results have.
at::MemoryFormat format_of(const Tensor& x, int rank) {
  return rank == 2 ? x.suggest_memory_format() : at::MemoryFormat::Contiguous;
}

// The shape and dtype of a forward pass's input. False for what our kernels do not read.
bool set_input(PoolRequest& request, const Tensor& x, at::MemoryFormat format) {
  const int rank = request.rank;
  const auto dtype = dtype_of(x.scalar_type());
  const bool is_max = request.op == PoolOperator::max_pool || request.op == PoolOperator::max_pool_backward ||
                      request.op == PoolOperator::adaptive_max_pool;
  if (!dtype || (!is_max && !x.is_floating_point()) || x.numel() == 0) return false;
  if (x.dim() != rank + 1 && x.dim() != rank + 2) return false;
  request.dtype = *dtype;
  request.is_batched = x.dim() == rank + 2;
  std::copy_n(x.sizes().end() - (rank + 1), rank + 1, request.sizes.begin());
  request.layout =
      format == at::MemoryFormat::Contiguous ? PoolLayout::contiguous : PoolLayout::channels_last;
  return true;
}

// The distances of an input in no order that a layout names. Those of one position say nothing.
void set_strides(PoolRequest& request, const Tensor& x) {
  request.layout = PoolLayout::strided;
  int64_t largest = 1;
  for (int64_t i = 0; i < x.dim(); ++i)
    if (x.size(i) > 1) largest = std::max(largest, x.stride(i) * x.size(i));
  const size_t first = request.is_batched ? 0 : 1;
  for (int64_t i = 0; i < x.dim(); ++i) request.strides[first + i] = x.size(i) > 1 ? x.stride(i) : largest;
}

int64_t batch_of(const Tensor& x, const PoolRequest& request) { return request.is_batched ? x.size(0) : 1; }

Tensor empty(const Tensor& x, const std::array<int64_t, 4>& sizes, int rank, at::ScalarType type,
             at::MemoryFormat format) {
  c10::SmallVector<int64_t, 5> shape(x.sizes().begin(), x.sizes().end());
  std::copy_n(sizes.begin(), rank + 1, shape.end() - (rank + 1));
  return at::detail::empty_cpu(shape, type, false, format);
}

// Output and, where the request says so, indices; no tensors where PyTorch has to do it.
TwoTensors pool(PoolRequest& request, const Tensor& x) {
  const at::MemoryFormat format = format_of(x, request.rank);
  if (!is_plain(x) || !set_input(request, x, format)) return {};
  Tensor read = x;
  if (!x.is_contiguous(format)) {
    if (format == at::MemoryFormat::Contiguous)
      set_strides(request, x);
    else
      read = x.contiguous(format);
  }
  const FoundPool* const found = kernels->find(request);
  if (!found) return {};
  const auto sizes = kernels->output_sizes(*found);
  Tensor output = empty(x, sizes, request.rank, x.scalar_type(), format), indices;
  if (request.return_indices) indices = empty(x, sizes, request.rank, at::kLong, format);
  const bool done = kernels->run(*found, read.data_ptr(), output.data_ptr(),
                                 indices.defined() ? indices.data_ptr() : nullptr, batch_of(x, request));
  return done ? TwoTensors(std::move(output), std::move(indices)) : TwoTensors();
}

TwoTensors pool_windows(PoolOperator op, int rank, const Tensor& x, const Arguments& arguments,
                        bool return_indices = false) {
  PoolRequest request{.op = op, .rank = static_cast<uint8_t>(rank), .return_indices = return_indices};
  return set_window(request, arguments) ? pool(request, x) : TwoTensors();
}

TwoTensors pool_adaptively(PoolOperator op, int rank, const Tensor& x, IntArrayRef output_size,
                           bool return_indices = false) {
  PoolRequest request{.op = op, .rank = static_cast<uint8_t>(rank), .return_indices = return_indices};
  return expand(output_size, rank, request.kernel_size) ? pool(request, x) : TwoTensors();
}

// The gradient of x; indices: null of an average.
Tensor pool_backward(PoolOperator op, int rank, const Tensor& gradient, const Tensor& x,
                     const Arguments& arguments, const Tensor* indices) {
  PoolRequest request{.op = op, .rank = static_cast<uint8_t>(rank)};
  const at::MemoryFormat format = format_of(x, rank);
  if (!is_plain(gradient) || (indices && !is_plain(*indices)) || !set_window(request, arguments) ||
      !set_input(request, x, format) || gradient.scalar_type() != x.scalar_type())
    return {};
  const FoundPool* const found = kernels->find(request);
  if (!found || gradient.dim() != x.dim() || batch_of(gradient, request) != batch_of(x, request)) return {};
  const auto sizes = kernels->input_sizes(*found);
  if (!std::equal(gradient.sizes().end() - (rank + 1), gradient.sizes().end(), sizes.begin())) return {};
  if (indices && (indices->sizes() != gradient.sizes() || indices->scalar_type() != at::kLong)) return {};
  const Tensor read = gradient.contiguous(format);
  const Tensor read_indices = indices ? indices->contiguous(format) : Tensor();
  Tensor made = empty(x, kernels->output_sizes(*found), rank, x.scalar_type(), format);
  const bool done = kernels->run(*found, read.data_ptr(), made.data_ptr(),
                                 indices ? read_indices.data_ptr() : nullptr, batch_of(x, request));
  return done ? made : Tensor();
}

// An index counts in the plane, so that a plane is done as one row: windows have no part in it. Channels
// last, several threads are PyTorch's: it deals out pixels, which took 0.6 of the time of our channels.
Tensor unpool(int rank, const Tensor& x, const Tensor& indices, IntArrayRef output_size) {
  PoolRequest request{.op = PoolOperator::max_unpool, .rank = static_cast<uint8_t>(rank)};
  const at::MemoryFormat format = format_of(x, rank);
  if (!is_plain(x) || !is_plain(indices) || !set_input(request, x, format)) return {};
  if (format != at::MemoryFormat::Contiguous && at::get_num_threads() > 1) return {};
  if (indices.scalar_type() != at::kLong || indices.sizes() != x.sizes() ||
      output_size.size() != static_cast<size_t>(rank) || at::globalContext().deterministicAlgorithms())
    return {};
  std::array<int64_t, 4> sizes = {request.sizes[0]};
  int64_t values = 1, places = 1;
  for (int i = 0; i < rank; ++i) {
    sizes[1 + i] = output_size[i];
    values *= request.sizes[1 + i];
    if (output_size[i] < 1 || __builtin_mul_overflow(places, output_size[i], &places)) return {};
  }
  if (places < values) return {};
  request.rank = 1;
  request.sizes = {request.sizes[0], values};
  request.kernel_size = {places - values + 1};
  request.stride = {1};
  const FoundPool* const found = kernels->find(request);
  if (!found) return {};
  const Tensor read = x.contiguous(format), read_indices = indices.contiguous(format);
  Tensor made = empty(x, sizes, rank, x.scalar_type(), format);
  const bool done =
      kernels->run(*found, read.data_ptr(), made.data_ptr(), read_indices.data_ptr(), batch_of(x, request));
  return done ? made : Tensor();
}

// Whether somebody may ask for a gradient, backward or (of dual tensors) forward.
bool wants_gradient(const Tensor& x) {
  return (at::GradMode::is_enabled() && x.requires_grad()) || x._fw_grad(0).defined();
}

// An operator of PyTorch's, and what calls it: PyTorch's own function is a template argument.

template <int rank, auto theirs>
TwoTensors max_pool_with_indices(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride,
                                 IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  if (is_on()) {
    auto made = pool_windows(PoolOperator::max_pool, rank, x,
                             {kernel_size, stride, padding, dilation, ceil_mode, true, {}}, true);
    if (std::get<0>(made).defined()) return made;
  }
  return theirs(x, kernel_size, stride, padding, dilation, ceil_mode);
}

template <int rank, auto theirs>
Tensor max_pool(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                IntArrayRef dilation, bool ceil_mode) {
  if (is_on() && !wants_gradient(x)) {
    auto made = std::get<0>(pool_windows(PoolOperator::max_pool, rank, x,
                                         {kernel_size, stride, padding, dilation, ceil_mode, true, {}}));
    if (made.defined()) return made;
  }
  return theirs(x, kernel_size, stride, padding, dilation, ceil_mode);
}

template <int rank, auto theirs>
Tensor max_pool_backward(const Tensor& gradient, const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride,
                         IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, const Tensor& indices) {
  if (is_backward_ours.load(std::memory_order_relaxed)) {
    Tensor made = pool_backward(PoolOperator::max_pool_backward, rank, gradient, x,
                                {kernel_size, stride, padding, dilation, ceil_mode, true, {}}, &indices);
    if (made.defined()) return made;
  }
  return theirs(gradient, x, kernel_size, stride, padding, dilation, ceil_mode, indices);
}

constexpr int64_t no_dilation = 1;

template <int rank, auto theirs>
Tensor avg_pool(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                bool ceil_mode, bool count_include_pad, Divisor divisor) {
  if (is_on()) {
    auto made = std::get<0>(
        pool_windows(PoolOperator::avg_pool, rank, x,
                     {kernel_size, stride, padding, no_dilation, ceil_mode, count_include_pad, divisor}));
    if (made.defined()) return made;
  }
  return theirs(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor);
}

template <int rank, auto theirs>
Tensor avg_pool_backward(const Tensor& gradient, const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride,
                         IntArrayRef padding, bool ceil_mode, bool count_include_pad, Divisor divisor) {
  if (is_backward_ours.load(std::memory_order_relaxed)) {
    Tensor made = pool_backward(
        PoolOperator::avg_pool_backward, rank, gradient, x,
        {kernel_size, stride, padding, no_dilation, ceil_mode, count_include_pad, divisor}, nullptr);
    if (made.defined()) return made;
  }
  return theirs(gradient, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor);
}

template <int rank, auto theirs>
TwoTensors adaptive_max_pool(const Tensor& x, IntArrayRef output_size) {
  if (is_on()) {
    auto made = pool_adaptively(PoolOperator::adaptive_max_pool, rank, x, output_size, true);
    if (std::get<0>(made).defined()) return made;
  }
  return theirs(x, output_size);
}

Tensor max_unpool2d(const Tensor& x, const Tensor& indices, IntArrayRef output_size) {
  if (is_on()) {
    Tensor made = unpool(2, x, indices, output_size);
    if (made.defined()) return made;
  }
  return at::cpu::max_unpool2d(x, indices, output_size);
}

Tensor max_unpool3d(const Tensor& x, const Tensor& indices, IntArrayRef output_size, IntArrayRef stride,
                    IntArrayRef padding) {
  const auto is_positive = [](int64_t step) { return step > 0; };
  if (is_on() && stride.size() == 3 && padding.size() == 3 &&
      std::all_of(stride.begin(), stride.end(), is_positive)) {
    Tensor made = unpool(3, x, indices, output_size);
    if (made.defined()) return made;
  }
  return at::cpu::max_unpool3d(x, indices, output_size, stride, padding);
}

// Of the composite operators nothing is ours where a gradient may be asked for; below autograd nobody asks.
template <int rank, auto theirs, typename Sizes>
Tensor adaptive_avg_pool(const Tensor& x, Sizes output_size) {
  if (is_on() && !wants_gradient(x)) {
    const auto sizes = [&] {
      if constexpr (std::is_same_v<Sizes, c10::SymIntArrayRef>)
        return c10::asIntArrayRefSlowOpt(output_size);
      else
        return c10::optional<IntArrayRef>(output_size);
    }();
    if (sizes) {
      auto made = std::get<0>(pool_adaptively(PoolOperator::adaptive_avg_pool, rank, x, *sizes));
      if (made.defined()) return made;
    }
  }
  return theirs(x, output_size);
}

// For operators that PyTorch calls with what may be SymInts.
constexpr auto adaptive_avg_pool2d =
    adaptive_avg_pool<2, &at::native::adaptive_avg_pool2d_symint, c10::SymIntArrayRef>;
constexpr auto inner_adaptive_avg_pool2d =
    adaptive_avg_pool<2, &at::cpu::_adaptive_avg_pool2d_symint, c10::SymIntArrayRef>;
constexpr auto adaptive_avg_pool3d = adaptive_avg_pool<3, &at::native::adaptive_avg_pool3d, IntArrayRef>;
constexpr auto inner_adaptive_avg_pool3d = adaptive_avg_pool<3, &at::cpu::_adaptive_avg_pool3d, IntArrayRef>;

// That kernels of PyTorch's are replaced is what was asked for.
class Silence final : public c10::WarningHandler {
  void process(const c10::SourceLocation&, const std::string&, const bool) override {}
};

}  // namespace

void register_operators(const TorchPooling& pooling) {
  if (kernels) return;
  kernels = &pooling;
  Silence silence;
  const c10::Warning::WarningHandlerGuard silent(&silence);
  // Never destroyed: other threads may be in PyTorch at the end.
  auto& library = *new torch::Library(torch::Library::IMPL, "aten", c10::nullopt, __FILE__, __LINE__);
  const auto below_autograd = [&](const char* name, auto* function) {
    library.impl(name, torch::dispatch(c10::DispatchKey::CPU, function));
  };
  const auto composite = [&](const char* name, auto* function) {
    library.impl(name, torch::dispatch(c10::DispatchKey::CPU, function));
    library.impl(name, torch::dispatch(c10::DispatchKey::AutogradCPU, function));
  };
  below_autograd("max_pool2d_with_indices", max_pool_with_indices<2, &at::cpu::max_pool2d_with_indices>);
  below_autograd("max_pool3d_with_indices", max_pool_with_indices<3, &at::cpu::max_pool3d_with_indices>);
  below_autograd("max_pool2d_with_indices_backward",
                 max_pool_backward<2, &at::cpu::max_pool2d_with_indices_backward>);
  below_autograd("max_pool3d_with_indices_backward",
                 max_pool_backward<3, &at::cpu::max_pool3d_with_indices_backward>);
  below_autograd("avg_pool2d", avg_pool<2, &at::cpu::avg_pool2d>);
  below_autograd("avg_pool3d", avg_pool<3, &at::cpu::avg_pool3d>);
  below_autograd("avg_pool2d_backward", avg_pool_backward<2, &at::cpu::avg_pool2d_backward>);
  below_autograd("avg_pool3d_backward", avg_pool_backward<3, &at::cpu::avg_pool3d_backward>);
  below_autograd("adaptive_max_pool2d", adaptive_max_pool<2, &at::cpu::adaptive_max_pool2d>);
  below_autograd("adaptive_max_pool3d", adaptive_max_pool<3, &at::cpu::adaptive_max_pool3d>);
  below_autograd("max_unpool2d", max_unpool2d);
  below_autograd("max_unpool3d", max_unpool3d);
  below_autograd("_adaptive_avg_pool2d", inner_adaptive_avg_pool2d);
  below_autograd("_adaptive_avg_pool3d", inner_adaptive_avg_pool3d);
  composite("max_pool1d", max_pool<1, &at::native::max_pool1d>);
  composite("max_pool2d", max_pool<2, &at::native::max_pool2d>);
  composite("max_pool3d", max_pool<3, &at::native::max_pool3d>);
  composite("adaptive_avg_pool2d", adaptive_avg_pool2d);
  composite("adaptive_avg_pool3d", adaptive_avg_pool3d);
}

void enter_functions() {
  ++contexts;
  is_backward_ours.store(true, std::memory_order_relaxed);
}

void leave_functions() { contexts = std::max(contexts - 1, 0); }

void set_enabled(bool enabled) {
  is_enabled.store(enabled, std::memory_order_relaxed);
  is_backward_ours.store(enabled || contexts > 0, std::memory_order_relaxed);
}

}  // namespace pooljit::python
