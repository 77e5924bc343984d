// Work that may take minutes and asks nobody whether it should stop: a proof, the oracle.
#pragma once

#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "bindings/python/src/unlocked.h"

namespace pooljit::python {

// Calls work() on a thread of its own, while this one answers signals: Ctrl-C raises KeyboardInterrupt within
// a tenth of a second. The work then goes on to its end, and its result is dropped, so it must own what it
// uses. It touches nothing of Python's.
template <typename Work>
auto interruptible(Work work) {
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto result = task.get_future();
  std::thread(std::move(task)).detach();
  constexpr std::chrono::milliseconds patience(100);
  while (unlocked([&] { return result.wait_for(patience); }) != std::future_status::ready)
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  return result.get();
}

}  // namespace pooljit::python
