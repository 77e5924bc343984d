#include "bindings/python/src/errors.h"

#include <new>

namespace pooljit::python {
namespace {

const char* class_name(ir::ErrorKind kind) {
  switch (kind) {
    case ir::ErrorKind::invalid:
      return "InvalidError";
    case ir::ErrorKind::unsupported:
      return "UnsupportedError";
    case ir::ErrorKind::system:
      break;
  }
  return "SystemError";
}

}  // namespace

void set_python_error(const ir::Error& error) {
  try {
    const py::object type = py::module_::import("pooljit._errors").attr(class_name(error.kind));
    PyErr_SetObject(type.ptr(), type(error.id, error.message, error.hint).ptr());
  } catch (py::error_already_set& failed) {  // the interpreter is ending, or has no memory
    failed.restore();
  }
}

void set_python_error_from_current() {
  try {
    throw;
  } catch (const Raised& raised) {
    set_python_error(raised.error);
  } catch (py::error_already_set& already) {
    already.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& other) {
    PyErr_SetString(PyExc_RuntimeError, other.what());
  }
}

void register_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const Raised& raised) {
      set_python_error(raised.error);
    }
  });
}

}  // namespace pooljit::python
