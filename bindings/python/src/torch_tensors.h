// Shared by the files of pooljit._torch_access: which tensors kernels can read.
#pragma once

#include <ATen/core/TensorBase.h>

#include <optional>

#include "ir/dtype.h"

namespace pooljit::python {

struct TorchPooling;

std::optional<ir::DType> dtype_of(at::ScalarType type);

// Elements in the CPU's memory and nothing else: no other device, no sparse or quantized tensor, no view that
// negates, no stand-in of a tracer's or a transform's.
bool is_plain(const at::TensorBase& tensor);

// Registers kernels for PyTorch's own pooling operators, to the end of the process. They do what PyTorch's do
// until they are switched on, for a thread or for all.
void register_operators(const TorchPooling& pooling);
void enter_functions();
void leave_functions();
void set_enabled(bool is_enabled);

}  // namespace pooljit::python
