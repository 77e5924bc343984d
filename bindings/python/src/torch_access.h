// The short way to PyTorch's tensors: a module of its own, pooljit._torch_access, compiled against PyTorch's
// headers where they are found. It serves one version of PyTorch. Without it, torch_arrays.cpp asks by the
// methods that Python has, which costs about a microsecond a tensor.
#pragma once

#include "bindings/python/src/arrays.h"

namespace pooljit::python {

struct TorchAccess {
  static constexpr const char* module = "pooljit._torch_access";
  static constexpr const char* capsule = "pooljit._torch_access.access";

  // Fills dtype, form, data and is_packed of a plain tensor: dense, on the CPU, of one of our dtypes. False
  // for others, and nothing is filled: the long way knows what is wrong with them.
  bool (*read)(PyObject* tensor, Array& array) noexcept;
  // A new tensor, not filled, and the address of its first element; null, without an exception, if there is
  // no memory.
  PyObject* (*make)(ir::DType dtype, const ArrayForm& form, bool is_packed, std::byte** data) noexcept;
  // Tells autograd that a tensor has other elements now.
  void (*written)(PyObject* tensor) noexcept;
};

}  // namespace pooljit::python
