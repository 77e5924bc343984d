// Unlocked: work without Python's global lock (GIL), so that other threads of Python go on; and the way back.
// Where the interpreter has ended in the meantime there is none: ending.cpp.
#pragma once

#include <pybind11/pybind11.h>

namespace pooljit::python {

// This thread's state, while it is in unlocked() work. (PyGILState_Ensure would make another one, of an
// interpreter that may have ended.)
inline thread_local PyThreadState* unlocked_state = nullptr;

// Calls work(), which touches nothing of Python's, without the lock.
template <typename Work>
auto unlocked(Work&& work) {
  struct Lock {
    Lock() { unlocked_state = PyEval_SaveThread(); }
    ~Lock() { PyEval_RestoreThread(unlocked_state); }
  } lock;
  return work();
}

// Calls work(), which is Python's, in the midst of unlocked() work of the same thread.
template <typename Work>
auto relocked(Work&& work) {
  struct Lock {
    Lock() { PyEval_RestoreThread(unlocked_state); }
    ~Lock() { unlocked_state = PyEval_SaveThread(); }
  } lock;
  return work();
}

}  // namespace pooljit::python
