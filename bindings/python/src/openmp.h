// Kernels on the threads of PyTorch's own OpenMP, so that two pools do not fight for the same cores.
#pragma once

#include "runtime/thread_pool.h"

namespace pooljit::python {

// The pool of the OpenMP (GCC's) that the process has loaded when this is first called, with as many threads
// as torch.set_num_threads says; null if there is none.
runtime::ThreadPool* openmp_pool();

// Called once. In a forked child GCC's OpenMP would wait for threads that the parent alone has: the library's
// own pool takes its place there, with as many threads.
void leave_openmp_in_children();

}  // namespace pooljit::python
