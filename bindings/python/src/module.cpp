// pooljit._core: what the package pooljit is made on.
#include <pybind11/pybind11.h>

#include "bindings/python/src/errors.h"
#include "bindings/python/src/functional.h"
#include "bindings/python/src/kernel.h"
#include "bindings/python/src/lab.h"
#include "bindings/python/src/openmp.h"
#include "bindings/python/src/torch_arrays.h"
#include "bindings/python/src/torch_pooling.h"

PYBIND11_MODULE(_core, module) {
  using namespace pooljit::python;
  register_errors(module);
  register_kernel(module);
  register_functional(module);
  register_specs(module);
  register_lab(module);
  register_tuning(module);
  module.attr("version") = POOLJIT_VERSION;
  module.attr("torch_pooling") = py::capsule(&torch_pooling, TorchPooling::capsule);
  module.def("has_torch_access", has_torch_access);
  leave_openmp_in_children();
}
