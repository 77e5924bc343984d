// Bounds of the runtime, each with its reason.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace pooljit::runtime {

// Of one pool. More than any machine that pooling scales to has.
inline constexpr int max_threads = 256;

// N, C and the spatial dimensions.
inline constexpr int max_task_dims = 8;

// A thread is worth waking for so many bytes read and written: about 5 us of work against 1 to 5 us to wake
// it.
inline constexpr int64_t bytes_per_thread = 64 * 1024;

// How long an idle worker of the built-in pool looks for tasks before it sleeps: about twice what waking it
// costs where that is dear (a virtual machine). The caller spins a shorter time for the end of a task that a
// worker has begun: if it does not come soon, the worker may need the caller's processor.
inline constexpr std::chrono::microseconds idle_spin{100};
inline constexpr std::chrono::microseconds caller_spin{20};

// The cache, unless told otherwise.
inline constexpr size_t cache_entries = 1024;
inline constexpr size_t cache_bytes = size_t{64} << 20;
// Sizes that a kernel with free dims keeps, unless told otherwise: those of a detector's images, or of a
// page's lines in steps of 32. Where each has code of its own, that is a fraction of the cache.
inline constexpr int usual_kept_sizes = 64, most_kept_sizes = 4096;
// The run of a size that makes code for it alone: option exact_after. By default it is the run from which
// that pays, at most the 1000th (runtime/free_kernel.cpp).
inline constexpr int never_exact = -1, last_exact_after = 1000;
// Spellings that one kernel is remembered by, on average.
inline constexpr size_t cache_texts_per_entry = 4;

}  // namespace pooljit::runtime
