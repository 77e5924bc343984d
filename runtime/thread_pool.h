// ThreadPool: where a kernel's work is split over threads. The built-in ones are in threads.h.
#pragma once

#include <cstdint>

#include "runtime/function_ref.h"

namespace pooljit::runtime {

struct ThreadPool {
  ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  virtual ~ThreadPool() = default;
  // How many threads work at once, the calling one included; >= 1. Kernels cut their work to suit it.
  virtual int threads() const = 0;
  // Calls task(0) ... task(tasks - 1), each once, in any order, on any threads, and returns when all have
  // returned. Called from many threads at once if kernels are run from many. `task` does not throw.
  virtual void parallel(int64_t tasks, FunctionRef<void(int64_t)> task) = 0;
};

}  // namespace pooljit::runtime
