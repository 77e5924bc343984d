// Compiling for Python: without the GIL. A fork waits for threads that compile (jit/fork_gate.h), and holds
// the GIL meanwhile: nothing within HoldForks may ask for it.
#pragma once

#include <pybind11/pybind11.h>

#include <span>
#include <string_view>

#include "runtime/cache.h"
#include "runtime/free_kernel.h"
#include "runtime/kernel.h"
#include "runtime/kernel_options.h"

namespace pooljit::python {

namespace py = pybind11;

// Options::measure from a number or a text.
std::string measure_of(const py::handle& value);
// The library's Options, from a dict of their names: backend, isa, schedule, threads, verify, tune_db,
// measure. Errors: "python.option".
runtime::Options options_of(const py::dict& words);

// Of a spec that may have free dims. Throws Raised with the errors of pooljit::compile().
runtime::AnyKernel compile_any_kernel(std::string_view spec, const runtime::Options& options);
// The kernel of one size. Throws Raised with the errors of FreeKernel::code_for().
runtime::KernelPtr sized_kernel(const runtime::FreeKernel& kernel, std::span<const int64_t> sizes);
// The same for a run, which counts. Throws Raised with the errors of FreeKernel::code_for_run().
runtime::KernelPtr sized_kernel_for_run(const runtime::FreeKernel& kernel, std::span<const int64_t> sizes);

}  // namespace pooljit::python
