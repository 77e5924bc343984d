// Compiling for Python: without the GIL, and never halfway when the process is forked.
#pragma once

#include <pybind11/pybind11.h>

#include <shared_mutex>
#include <string_view>

#include "bindings/python/src/unlocked.h"
#include "runtime/kernel.h"
#include "runtime/kernel_options.h"

namespace pooljit::python {

namespace py = pybind11;

// Options::measure from a number or a text.
std::string measure_of(const py::handle& value);
// The library's Options, from a dict of their names: backend, isa, schedule, threads, verify, tune_db,
// measure. Errors: "python.option".
runtime::Options options_of(const py::dict& words);

// A child that is forked while another thread compiles would wait for ever for the library's locks. So a fork
// of Python's (multiprocessing) waits for those that compile: os.register_at_fork calls these.
std::shared_mutex& fork_gate();
void hold_compiles();
void release_compiles_in_parent();
void release_compiles_in_child();

// Work of the library's that compiles, without the GIL.
template <typename Work>
auto compiling(Work&& work) {
  return unlocked([&] {
    const std::shared_lock<std::shared_mutex> lock(fork_gate());
    return work();
  });
}

// Python's own code, called in the midst of compiling(): it may fork and compile as any other.
template <typename Work>
auto calling_back(Work&& work) {
  fork_gate().unlock_shared();
  struct Gate {
    ~Gate() { fork_gate().lock_shared(); }  // without the GIL, which a thread that forks waits for
  } back;
  return relocked(work);
}

// Throws Raised with the errors of pooljit::compile().
runtime::KernelPtr compile_kernel(std::string_view spec, const runtime::Options& options);

}  // namespace pooljit::python
