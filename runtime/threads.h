// The built-in thread pools: one per number of threads, made when first used, kept for good.
#pragma once

#include "runtime/thread_pool.h"

namespace pooljit::runtime {

// How many processors this process may use.
int available_threads();

// In a forked child: the parent's pools have no threads there.
void forget_pools_in_child();

// A pool of so many threads (>= 1), for whoever asks. A call that finds it busy does its tasks itself, so
// kernels may be run from many threads, and from within a task. After fork() the child gets pools of its own.
ThreadPool& builtin_pool(int threads);

}  // namespace pooljit::runtime
