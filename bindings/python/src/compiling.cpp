#include "bindings/python/src/compiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bindings/python/src/errors.h"
#include "bindings/python/src/interruptible.h"
#include "bindings/python/src/unlocked.h"
#include "runtime/compile.h"

namespace pooljit::python {
namespace {

std::string text_of(const py::handle& value, const std::string& name) {
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  if (PyObject_HasAttrString(value.ptr(), "__fspath__"))
    return py::module_::import("os").attr("fspath")(value).cast<std::string>();
  raise(ir::invalid("python.option",
                    fmt::format("{}={} is no text", name, py::repr(value).cast<std::string>()),
                    fmt::format("{}=\"auto\"", name)));
}

}  // namespace

std::string measure_of(const py::handle& value) {
  const bool is_number = PyLong_Check(value.ptr()) && !PyBool_Check(value.ptr());
  return is_number ? py::str(value).cast<std::string>() : text_of(value, "measure");
}

runtime::Options options_of(const py::dict& words) {
  runtime::Options options;
  for (const auto& [key, value] : words) {
    const auto name = key.cast<std::string>();
    if (name == "backend") {
      options.backend = text_of(value, name);
    } else if (name == "isa") {
      options.isa = text_of(value, name);
    } else if (name == "schedule") {
      options.schedule = text_of(value, name);
    } else if (name == "tune_db") {
      options.tune_db = text_of(value, name);
    } else if (name == "fallback") {
      options.fallback = text_of(value, name);
    } else if (name == "label") {
      options.label = text_of(value, name);
    } else if (name == "names") {
      options.names = text_of(value, name);
    } else if (name == "measure") {
      options.measure = measure_of(value);
    } else if ((name == "sizes" || name == "exact_after") && PyLong_Check(value.ptr())) {
      constexpr long most = std::numeric_limits<int>::max();
      const long number = PyLong_AsLong(value.ptr());
      PyErr_Clear();
      (name == "sizes" ? options.sizes : options.exact_after) =
          static_cast<int>(std::clamp(number, -most, most));
    } else if (name == "verify" && PyBool_Check(value.ptr())) {
      options.verify = value.ptr() == Py_True;
    } else if (name == "threads" && PyLong_Check(value.ptr())) {
      const long threads = PyLong_AsLong(value.ptr());
      if (threads < 0 || threads > 65536) {
        PyErr_Clear();
        raise(ir::invalid("python.option", fmt::format("threads={}", py::repr(value).cast<std::string>()),
                          "0, as many as the process may use, or how many"));
      }
      options.threads = static_cast<int>(threads);
    } else {
      raise(ir::invalid("python.option", fmt::format("{}={}", name, py::repr(value).cast<std::string>()),
                        "options are backend, isa, schedule, threads, verify, tune_db, measure, fallback, "
                        "label, names, sizes and exact_after"));
    }
  }
  return options;
}

runtime::AnyKernel compile_any_kernel(std::string_view spec, const runtime::Options& options) {
  if (options.verify)
    return value_or_raise(
        interruptible([text = std::string(spec), options] { return runtime::compile_any(text, options); }));
  return value_or_raise(unlocked([&] { return runtime::compile_any(spec, options); }));
}

runtime::KernelPtr sized_kernel(const runtime::FreeKernel& kernel, std::span<const int64_t> sizes) {
  return value_or_raise(unlocked([&] { return kernel.code_for(sizes); }));
}

runtime::KernelPtr sized_kernel_for_run(const runtime::FreeKernel& kernel, std::span<const int64_t> sizes) {
  return value_or_raise(unlocked([&] { return kernel.code_for_run(sizes); }));
}

}  // namespace pooljit::python
