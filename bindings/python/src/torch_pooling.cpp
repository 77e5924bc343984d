#include "bindings/python/src/torch_pooling.h"

#include <algorithm>
#include <exception>
#include <string>
#include <unordered_map>

#include "bindings/python/src/openmp.h"
#include "ir/append.h"
#include "runtime/compile.h"

namespace pooljit::python {

struct FoundPool {
  runtime::KernelPtr kernel;  // null: refused
  std::array<int64_t, 4> input{}, output{};
};

namespace {

constexpr const char* names[] = {"max_pool", "avg_pool", "adaptive_max_pool", "adaptive_avg_pool",
                                 "max_pool", "avg_pool", "max_unpool"};

bool is_adaptive(PoolOperator op) {
  return op == PoolOperator::adaptive_max_pool || op == PoolOperator::adaptive_avg_pool;
}
bool is_backward(PoolOperator op) {
  return op == PoolOperator::max_pool_backward || op == PoolOperator::avg_pool_backward;
}
bool has_dilation(PoolOperator op) {
  return op == PoolOperator::max_pool || op == PoolOperator::max_pool_backward;
}
bool is_average(PoolOperator op) {
  return op == PoolOperator::avg_pool || op == PoolOperator::avg_pool_backward;
}

template <size_t Size>
void append_list(std::string& text, const char* name, const std::array<int64_t, Size>& numbers,
                 size_t count) {
  ir::append(text, ", {}=[", name);
  for (size_t i = 0; i < count; ++i) ir::append(text, "{}{}", i == 0 ? "" : ",", numbers[i]);
  text += ']';
}

std::string text_of(const PoolRequest& request) {
  std::string text;
  ir::append(text, "{}{}d{}({}[", names[static_cast<size_t>(request.op)], request.rank,
             is_backward(request.op) ? "_backward" : "", ir::info(request.dtype).spec_name);
  if (request.is_batched) text += "1,";
  for (size_t i = 0; i <= request.rank; ++i) ir::append(text, "{}{}", i == 0 ? "" : ",", request.sizes[i]);
  text += ']';
  constexpr const char* channels_last[] = {"", ":nwc", ":nhwc", ":ndhwc"};
  if (request.layout == PoolLayout::channels_last) text += channels_last[request.rank];
  append_list(text, is_adaptive(request.op) ? "output_size" : "kernel_size", request.kernel_size,
              request.rank);
  if (!is_adaptive(request.op)) {
    append_list(text, "stride", request.stride, request.rank);
    append_list(text, "padding", request.padding, request.rank);
    if (has_dilation(request.op)) append_list(text, "dilation", request.dilation, request.rank);
    if (request.ceil_mode) text += ", ceil_mode=True";
  }
  if (is_average(request.op)) {
    if (!request.count_include_pad) text += ", count_include_pad=False";
    if (request.divisor != 0) ir::append(text, ", divisor_override={}", request.divisor);
  }
  if (request.return_indices) text += ", return_indices=True";
  if (request.layout == PoolLayout::strided) {
    std::array<int64_t, 5> strides = request.strides;
    if (!request.is_batched) std::rotate(strides.begin(), strides.begin() + 1, strides.end());
    append_list(text, "strides", strides, request.rank + (request.is_batched ? 2 : 1));
  }
  return text + ')';
}

std::array<int64_t, 4> sizes_of(const std::vector<int64_t>& shape, bool is_batched) {
  std::array<int64_t, 4> sizes{};
  std::copy(shape.begin() + (is_batched ? 1 : 0), shape.end(), sizes.begin());
  return sizes;
}

struct Hash {
  size_t operator()(const PoolRequest& request) const {
    uint64_t hash = static_cast<uint64_t>(request.op) | uint64_t{request.rank} << 8 |
                    uint64_t{request.is_batched} << 16 | static_cast<uint64_t>(request.layout) << 24 |
                    static_cast<uint64_t>(request.dtype) << 32 | uint64_t{request.ceil_mode} << 40 |
                    uint64_t{request.count_include_pad} << 41 | uint64_t{request.return_indices} << 42;
    const auto take = [&](const auto& numbers) {
      for (const int64_t number : numbers) {
        hash = (hash ^ static_cast<uint64_t>(number)) * 0x9E3779B97F4A7C15U;
        hash ^= hash >> 32;
      }
    };
    take(request.sizes);
    if (request.layout == PoolLayout::strided) take(request.strides);
    take(request.kernel_size);
    take(request.stride);
    take(request.padding);
    return hash;
  }
};

FoundPool make(const PoolRequest& request) {
  auto made = runtime::compile(text_of(request), runtime::Options{.fallback = "never"});
  if (!made) return {};
  const runtime::KernelPtr kernel = std::move(*made);
  return {kernel, sizes_of(kernel->input_shape(), request.is_batched),
          sizes_of(kernel->output_shape(), request.is_batched)};
}

// Of each thread: so that a child that is forked finds no lock held.
const FoundPool* find(const PoolRequest& request) noexcept {
  constexpr size_t most_kernels = 4096;  // beyond that all are forgotten; code stays in the library's cache
  thread_local std::unordered_map<PoolRequest, FoundPool, Hash> known;
  try {
    auto at = known.find(request);
    if (at == known.end()) {
      if (known.size() >= most_kernels) known.clear();
      at = known.emplace(request, make(request)).first;
    }
    return at->second.kernel ? &at->second : nullptr;
  } catch (const std::exception&) {  // no memory
    return nullptr;
  }
}

std::array<int64_t, 4> input_sizes(const FoundPool& pool) noexcept { return pool.input; }
std::array<int64_t, 4> output_sizes(const FoundPool& pool) noexcept { return pool.output; }

bool run(const FoundPool& pool, const void* input, void* output, void* indices, int64_t batch) noexcept {
  try {
    return pool.kernel->run(input, output, indices, openmp_pool(), batch).has_value();
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

const TorchPooling torch_pooling = {find, input_sizes, output_sizes, run};

}  // namespace pooljit::python
