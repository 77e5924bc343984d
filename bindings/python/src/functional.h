// The functions with PyTorch's signatures: the kernel is found by what the input and the arguments are.
#pragma once

#include <pybind11/pybind11.h>

namespace pooljit::python {

void register_functional(pybind11::module_& module);

}  // namespace pooljit::python
