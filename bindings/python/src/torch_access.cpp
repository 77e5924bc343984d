// pooljit._torch_access (torch_access.h): PyTorch's own C++ in place of its Python.
#include "bindings/python/src/torch_access.h"

#include <ATen/EmptyTensor.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/version.h>

#include <array>
#include <cctype>
#include <optional>
#include <string_view>

#include "bindings/python/src/torch_pooling.h"
#include "bindings/python/src/torch_tensors.h"

namespace pooljit::python {

std::optional<ir::DType> dtype_of(at::ScalarType type) {
  switch (type) {
    case at::kByte:
      return ir::DType::u8;
    case at::kChar:
      return ir::DType::i8;
    case at::kShort:
      return ir::DType::i16;
    case at::kInt:
      return ir::DType::i32;
    case at::kLong:
      return ir::DType::i64;
    case at::kHalf:
      return ir::DType::f16;
    case at::kBFloat16:
      return ir::DType::bf16;
    case at::kFloat:
      return ir::DType::f32;
    case at::kDouble:
      return ir::DType::f64;
    default:
      return std::nullopt;
  }
}

// Whatever makes a tensor something else than elements in the CPU's memory has a key.
bool is_plain(const at::TensorBase& tensor) {
  static const uint64_t allowed =
      c10::DispatchKeySet({c10::DispatchKey::CPU, c10::DispatchKey::ADInplaceOrView,
                           c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutocastCPU})
          .raw_repr();
  if (!tensor.defined()) return false;
  const c10::TensorImpl& inner = *tensor.unsafeGetTensorImpl();
  c10::DispatchKeySet keys = inner.key_set();
  return keys.has(c10::DispatchKey::CPU) && (keys.raw_repr() & ~allowed) == 0 && inner.has_storage();
}

namespace {

at::ScalarType type_of(ir::DType dtype) {
  static const auto types = [] {
    std::array<at::ScalarType, std::size(ir::dtype_table)> all{};
    for (int type = 0; type < static_cast<int>(at::ScalarType::NumOptions); ++type)
      if (const auto ours = dtype_of(static_cast<at::ScalarType>(type)))
        all[static_cast<size_t>(*ours)] = static_cast<at::ScalarType>(type);
    return all;
  }();
  return types[static_cast<size_t>(dtype)];
}

bool read(PyObject* object, Array& array) noexcept {
  try {
    const at::TensorBase& tensor = THPVariable_Unpack(object);
    if (!is_plain(tensor)) return false;
    const auto dtype = dtype_of(tensor.scalar_type());
    const auto rank = static_cast<size_t>(tensor.dim());
    if (!dtype || rank > most_dims) return false;
    array.data = static_cast<std::byte*>(tensor.data_ptr());
    array.dtype = *dtype;
    array.is_packed = tensor.is_contiguous();
    array.form.rank = rank;
    std::copy_n(tensor.sizes().data(), rank, array.form.shape.begin());
    if (array.is_packed)
      set_packed_strides(array.form);
    else
      std::copy_n(tensor.strides().data(), rank, array.form.strides.begin());
    return true;
  } catch (const std::exception&) {  // memory that cannot be reached after all
    return false;
  }
}

PyObject* make(ir::DType dtype, const ArrayForm& form, bool is_packed, std::byte** data) noexcept {
  try {
    const at::IntArrayRef shape(form.shape.data(), form.rank), strides(form.strides.data(), form.rank);
    at::TensorBase tensor = is_packed ? at::detail::empty_cpu(shape, type_of(dtype))
                                      : at::detail::empty_strided_cpu(shape, strides, type_of(dtype));
    *data = static_cast<std::byte*>(tensor.data_ptr());
    return THPVariable_Wrap(std::move(tensor));
  } catch (const std::exception&) {
    return nullptr;
  }
}

void written(PyObject* object) noexcept {
  const at::TensorBase& tensor = THPVariable_Unpack(object);
  try {
    if (!tensor.is_inference()) tensor.unsafeGetTensorImpl()->bump_version();
  } catch (const std::exception&) {  // one without a version has nobody to tell
  }
}

constexpr TorchAccess functions = {read, make, written};

// The layout of a tensor is this version's: "1.13.0", of 1.13.0a0 and 1.13.0+cpu.
bool is_compiled_for(std::string_view version) {
  constexpr std::string_view compiled = TORCH_VERSION;
  const size_t end = compiled.size();
  return version.starts_with(compiled) && (version.size() == end || !std::isdigit(version[end]));
}

}  // namespace
}  // namespace pooljit::python

PYBIND11_MODULE(_torch_access, module) {
  using namespace pooljit::python;
  const auto loaded = py::module_::import("torch").attr("__version__").cast<std::string>();
  if (!is_compiled_for(loaded))
    throw py::import_error("compiled for PyTorch " TORCH_VERSION ", this is " + loaded);
  const py::object core = py::module_::import("pooljit._core").attr("torch_pooling");
  register_operators(
      *static_cast<const TorchPooling*>(PyCapsule_GetPointer(core.ptr(), TorchPooling::capsule)));
  module.attr("access") = py::capsule(&functions, TorchAccess::capsule);
  module.def("enter_functions", enter_functions);
  module.def("leave_functions", leave_functions);
  module.def("set_enabled", set_enabled);
}
