// PyTorch's tensors, through the methods that Python has for them: this module is not linked with PyTorch,
// and works with whatever version the process has loaded.
#pragma once

#include "bindings/python/src/arrays.h"

namespace pooljit::python {

// False as long as nobody has imported torch.
bool is_torch_tensor(PyObject* object);

// Errors: those of read_array.
Array read_torch(PyObject* object, const char* name);

py::object make_torch(ir::DType dtype, const Form& form);

std::byte* torch_data(PyObject* tensor);

}  // namespace pooljit::python
