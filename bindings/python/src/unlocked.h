// Unlocked: work without Python's global lock (GIL), so that other threads of Python go on.
#pragma once

#include <pybind11/pybind11.h>
#include <unistd.h>

namespace pooljit::python {

// Calls work(), which touches nothing of Python's, without the lock. A thread that cannot have it back
// because the interpreter has ended in the meantime waits for the end of the process: CPython would unwind it
// through frames of C++ (pthread_exit), whose destructors need the lock.
template <typename Work>
auto unlocked(Work&& work) {
  struct Lock {
    PyThreadState* state = PyEval_SaveThread();
    void take_back() noexcept {
      try {
        PyEval_RestoreThread(state);
      } catch (...) {  // the forced unwinding of pthread_exit
        for (;;) ::pause();
      }
    }
    ~Lock() { take_back(); }
  } lock;
  return work();
}

}  // namespace pooljit::python
