// The built-in pool, for what kernels are measured against.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/limits.h"
#include "runtime/threads.h"

namespace pooljit::tools {

// As many as the bytes are worth, as the library itself decides.
inline int useful_threads(int threads, int64_t bytes) {
  return static_cast<int>(std::clamp<int64_t>(bytes / runtime::bytes_per_thread, 1, threads));
}

inline void in_parallel(int threads, int64_t tasks, FunctionRef<void(int64_t begin, int64_t end)> work) {
  if (threads == 1) return work(0, tasks);
  runtime::builtin_pool(threads).parallel(
      threads, [&](int64_t part) { work(tasks * part / threads, tasks * (part + 1) / threads); });
}

}  // namespace pooljit::tools
