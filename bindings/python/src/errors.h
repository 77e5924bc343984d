// Errors of the library as Python's exceptions: pooljit.InvalidError, UnsupportedError and SystemError, with
// .id and .hint (pooljit/_errors.py).
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <utility>

#include "ir/error.h"

namespace pooljit::python {

namespace py = pybind11;

// An error of the library's on its way to Python.
struct Raised : std::exception {
  explicit Raised(ir::Error what) : error(std::move(what)) {}
  const char* what() const noexcept override { return error.id.c_str(); }
  ir::Error error;
};

[[noreturn]] inline void raise(ir::Error error) { throw Raised(std::move(error)); }
[[noreturn]] inline void raise(tl::unexpected<ir::Error> error) { throw Raised(std::move(error.value())); }

template <typename T>
T value_or_raise(ir::Result<T> result) {
  if (!result) raise(std::move(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Makes it Python's current exception.
void set_python_error(const ir::Error& error);

// Whatever is being thrown becomes Python's current exception. Called in a catch block.
void set_python_error_from_current();

// For functions that Python calls without pybind11 between: null with Python's exception set, if body throws.
template <typename Body>
PyObject* guarded(Body&& body) {
  try {
    return body();
  } catch (const std::exception&) {
    set_python_error_from_current();
    return nullptr;
  }
}

void register_errors(py::module_& module);

}  // namespace pooljit::python
