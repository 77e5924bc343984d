// The threads of what kernels are measured against: plain ones, none of the library's, so that what goes
// wrong in its pool shows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/function_ref.h"
#include "runtime/limits.h"

namespace pooljit::tools {

// As many as the bytes are worth, as the library itself decides.
inline int useful_threads(int threads, int64_t bytes) {
  return static_cast<int>(std::clamp<int64_t>(bytes / runtime::bytes_per_thread, 1, threads));
}

// Cuts the tasks into `threads` equal ranges, one for each of so many threads, and returns when all are done.
// Called by one thread at a time.
void in_parallel(int threads, int64_t tasks, runtime::FunctionRef<void(int64_t begin, int64_t end)> work);

}  // namespace pooljit::tools
