// PyTorch's tensors: by pooljit._torch_access (torch_access.h) where it fits the PyTorch that the process has
// loaded, else by the methods that Python has for them, of whatever version.
#pragma once

#include "bindings/python/src/arrays.h"

namespace pooljit::python {

// False as long as nobody has imported torch.
bool is_torch_tensor(PyObject* object);

// Whether pooljit._torch_access can be imported: it is there, and made for the PyTorch that is loaded.
bool has_torch_access();

// Errors: those of read_array.
Array read_torch(PyObject* object, const char* name);

// Tells autograd that a tensor has other elements now, so that a gradient that needs the old ones is refused.
void note_written(PyObject* tensor);

MadeArray make_torch(ir::DType dtype, const ArrayForm& form);

}  // namespace pooljit::python
