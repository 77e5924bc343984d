// The interface between PyTorch's operators (torch_operators.cpp, in pooljit._torch_access) and the kernels
// in pooljit._core. Plain data and functions: the two are libraries of their own. Nothing here touches Python
// or waits for its lock.
#pragma once

#include <array>
#include <cstdint>

#include "ir/dtype.h"

namespace pooljit::python {

enum class PoolOperator : uint8_t {
  max_pool,
  avg_pool,
  adaptive_max_pool,
  adaptive_avg_pool,
  max_pool_backward,
  avg_pool_backward,
  max_unpool
};

enum class PoolLayout : uint8_t { contiguous, channels_last, strided };

// A layer, but for its batch. Numbers of dimensions that it has not are 0.
struct PoolRequest {
  PoolOperator op{};
  uint8_t rank = 0;  // spatial dimensions
  bool is_batched = false;
  PoolLayout layout{};
  ir::DType dtype{};
  bool ceil_mode = false, count_include_pad = true, return_indices = false;
  std::array<int64_t, 4> sizes{};    // C and spatial, of what the forward pass reads
  std::array<int64_t, 5> strides{};  // in elements, N's first; only of the layout strided
  // Of an adaptive pool kernel_size holds the output's sizes.
  std::array<int64_t, 3> kernel_size{}, stride{}, padding{}, dilation{};
  int64_t divisor = 0;  // 0: the number of taps

  bool operator==(const PoolRequest&) const = default;
};

// A kernel, kept as long as the thread lives.
struct FoundPool;

struct TorchPooling {
  static constexpr const char* capsule = "pooljit._core.torch_pooling";

  // The kernel of a layer, compiled at the first request of a thread; null if there is none.
  const FoundPool* (*find)(const PoolRequest& request) noexcept;
  // C and spatial sizes of what the kernel reads and of what it writes.
  std::array<int64_t, 4> (*input_sizes)(const FoundPool& pool) noexcept;
  std::array<int64_t, 4> (*output_sizes)(const FoundPool& pool) noexcept;
  // On PyTorch's threads. indices: written or read, null of a kernel without. False: refused (an index that
  // names no place, too), nothing is written.
  bool (*run)(const FoundPool& pool, const void* input, void* output, void* indices, int64_t batch) noexcept;
};
extern const TorchPooling torch_pooling;  // in pooljit._core

}  // namespace pooljit::python
