// The built-in thread pools: one per number of threads, made when first used, never destroyed.
#pragma once

#include "ir/error.h"
#include "runtime/thread_pool.h"

namespace pooljit::runtime {

// How many processors this process may use: by its affinity, by the quota of its control groups
// (runtime/cpu_quota.h, read once), and at most as many as the environment variable POOLJIT_THREADS says.
int available_threads();

// Fails with "runtime.threads" if POOLJIT_THREADS is no number of threads.
ir::Result<void> check_thread_limit();

// In a forked child: the parent's pools have no threads there.
void forget_pools_in_child();

// The pool of so many threads (>= 1). A call that finds it busy does its tasks itself, so kernels may be run
// from many threads, and from within a task. After fork() the child gets pools of its own.
ThreadPool& builtin_pool(int threads);

}  // namespace pooljit::runtime
