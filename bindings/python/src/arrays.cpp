#include "bindings/python/src/arrays.h"

#include <dlpack/dlpack.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pybind11/numpy.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "bindings/python/src/errors.h"
#include "bindings/python/src/torch_arrays.h"

namespace pooljit::python {
namespace {

using py::detail::npy_api;

// numpy's numbers of its own types (NPY_TYPES); the widths are those of x86-64.
std::optional<ir::DType> dtype_of_number(int number) {
  switch (number) {
    case npy_api::NPY_BYTE_:
      return ir::DType::i8;
    case npy_api::NPY_UBYTE_:
      return ir::DType::u8;
    case npy_api::NPY_SHORT_:
      return ir::DType::i16;
    case npy_api::NPY_INT_:
      return ir::DType::i32;
    case npy_api::NPY_LONG_:
    case npy_api::NPY_LONGLONG_:
      return ir::DType::i64;
    case npy_api::NPY_FLOAT_:
      return ir::DType::f32;
    case npy_api::NPY_DOUBLE_:
      return ir::DType::f64;
    case 23:  // NPY_HALF
      return ir::DType::f16;
    default:
      return std::nullopt;
  }
}

// bfloat16 is no type of numpy's: ml_dtypes brings one; without it, elements are 2 bytes without a meaning
// ("V2"), as in the files of `pooljit run`.
bool is_bfloat16(const py::object& dtype) {
  if (dtype.attr("itemsize").cast<int>() != 2) return false;
  if (dtype.attr("name").cast<std::string>() == "bfloat16") return true;
  return dtype.attr("kind").cast<std::string>() == "V" && dtype.attr("names").is_none();
}

ir::DType dtype_of_numpy(PyObject* descr, const char* name) {
  const auto* type = py::detail::array_descriptor_proxy(descr);
  const bool is_swapped = type->byteorder == '>';
  if (const auto dtype = dtype_of_number(type->type_num); dtype && !is_swapped) return *dtype;
  const auto object = py::reinterpret_borrow<py::object>(descr);
  if (!is_swapped && is_bfloat16(object)) return ir::DType::bf16;
  raise(ir::invalid("python.dtype",
                    fmt::format("{} has elements of {}{}", name, py::str(object).cast<std::string>(),
                                is_swapped ? ", whose bytes are in the other order" : ""),
                    "float32, float64, float16, bfloat16, uint8, int8, int16, int32 or int64"));
}

// Strides in bytes to strides in elements.
void set_strides(ArrayForm& form, std::span<const ssize_t> bytes, int64_t element, const char* name) {
  for (size_t i = 0; i < form.rank; ++i) {
    const int64_t stride = bytes[i];
    // A dimension of one position has any stride.
    if (form.shape[i] > 1 && (stride < 0 || stride % element != 0))
      raise(ir::invalid("python.strides",
                        fmt::format("{} has the stride {} bytes, with elements of {}", name, stride, element),
                        "strides are whole numbers of elements, at least 0: numpy.ascontiguousarray copies"));
    form.strides[i] = stride / element;
  }
}

void set_shape(ArrayForm& form, std::span<const ssize_t> dims, const char* name) {
  if (dims.size() > most_dims)
    raise(ir::invalid("python.shape", fmt::format("{} has {} dimensions", name, dims.size()),
                      "[N,C,SPATIAL...], with one to three spatial dimensions"));
  form.rank = dims.size();
  std::copy(dims.begin(), dims.end(), form.shape.begin());
}

Array read_numpy(PyObject* object, const char* name) {
  constexpr int c_contiguous = npy_api::NPY_ARRAY_C_CONTIGUOUS_;
  const auto* proxy = py::detail::array_proxy(object);
  Array array;
  array.dtype = dtype_of_numpy(proxy->descr, name);
  array.is_writable = (proxy->flags & npy_api::NPY_ARRAY_WRITEABLE_) != 0;
  array.is_packed = (proxy->flags & c_contiguous) != 0;
  array.data = reinterpret_cast<std::byte*>(proxy->data);
  const auto rank = static_cast<size_t>(proxy->nd);
  set_shape(array.form, {proxy->dimensions, rank}, name);
  if (array.is_packed)
    set_packed_strides(array.form);
  else
    set_strides(array.form, {proxy->strides, rank}, ir::bytes(array.dtype), name);
  return array;
}

std::optional<ir::DType> dtype_of_dlpack(const DLDataType& type) {
  if (type.lanes != 1) return std::nullopt;
  for (const ir::DTypeInfo& row : ir::dtype_table) {
    if (!row.tensor || row.bits != type.bits) continue;
    const bool is_bfloat = row.dtype == ir::DType::bf16;
    const int code = is_bfloat                                 ? kDLBfloat
                     : row.cls == ir::DTypeClass::floating     ? kDLFloat
                     : row.cls == ir::DTypeClass::unsigned_int ? kDLUInt
                                                               : kDLInt;
    if (code == type.code) return row.dtype;
  }
  return std::nullopt;
}

[[noreturn]] void refuse_dlpack(const char* name, const char* why) {
  raise(ir::invalid("python.array", fmt::format("{}: {}", name, why), "DLPack's protocol"));
}

// Holds what the producer lent, until the call is over.
py::object take_capsule(const py::object& lent, const char* name) {
  if (!PyCapsule_CheckExact(lent.ptr())) refuse_dlpack(name, "__dlpack__() gives no capsule");

  auto* const tensor = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(lent.ptr(), "dltensor"));
  if (!tensor) {
    PyErr_Clear();
    refuse_dlpack(name, "__dlpack__() gives a capsule that was used before");
  }
  PyCapsule_SetName(lent.ptr(), "used_dltensor");
  return py::capsule(tensor, [](void* pointer) {
    auto* const managed = static_cast<DLManagedTensor*>(pointer);
    if (managed->deleter) managed->deleter(managed);
  });
}

void check_device(const py::handle& object, const char* name) {
  const py::object said = object.attr("__dlpack_device__")();
  std::pair<int, int> device;
  try {
    device = said.cast<std::pair<int, int>>();
  } catch (const py::cast_error&) {
    refuse_dlpack(name, "__dlpack_device__() gives no pair of numbers");
  }
  if (device.first != kDLCPU && device.first != kDLCUDAHost)
    raise(ir::invalid("python.device",
                      fmt::format("{} lies on DLPack's device {},{}", name, device.first, device.second),
                      "memory of the CPU: 1,0"));
}

Array read_dlpack(PyObject* object, const char* name) {
  const py::handle producer(object);
  check_device(producer, name);
  Array array;
  array.library = Library::other;
  array.keeper = take_capsule(producer.attr("__dlpack__")(), name);
  const DLTensor& tensor =
      static_cast<DLManagedTensor*>(py::reinterpret_borrow<py::capsule>(array.keeper).get_pointer())
          ->dl_tensor;
  const auto dtype = dtype_of_dlpack(tensor.dtype);
  if (!dtype)
    raise(ir::invalid("python.dtype",
                      fmt::format("{} has elements of DLPack's type {}, {} bits, {} lanes", name,
                                  int{tensor.dtype.code}, int{tensor.dtype.bits}, int{tensor.dtype.lanes}),
                      "float32, float64, float16, bfloat16, uint8, int8, int16, int32 or int64"));
  array.dtype = *dtype;
  array.is_writable = false;  // DLPack does not say
  array.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  const auto rank = static_cast<size_t>(tensor.ndim);
  set_shape(array.form, {tensor.shape, rank}, name);
  if (tensor.strides)
    set_strides(array.form, {tensor.strides, rank}, 1, name);
  else
    set_packed_strides(array.form);
  ArrayForm packed = array.form;
  set_packed_strides(packed);
  array.is_packed = packed.strides == array.form.strides;
  return array;
}

bool is_exact_numpy(PyObject* object) {
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) ==
         reinterpret_cast<PyObject*>(npy_api::get().PyArray_Type_);
}

[[noreturn]] void refuse(PyObject* object, const char* name) {
  raise(ir::invalid(
      "python.array", fmt::format("{} is a {}", name, Py_TYPE(object)->tp_name),
      "a numpy array, a PyTorch tensor, or what has __dlpack__; numpy.asarray makes one of lists"));
}

// The element types that numpy has under this name.
py::object numpy_dtype(ir::DType dtype, PyObject* like) {
  if (dtype != ir::DType::bf16) {
    static std::array<PyObject*, std::size(ir::dtype_table)> known{};  // to the end of the process
    PyObject*& type = known[static_cast<size_t>(dtype)];
    if (!type) type = py::dtype(std::string(ir::info(dtype).npy)).release().ptr();
    return py::reinterpret_borrow<py::object>(type);
  }
  if (like && npy_api::get().PyArray_Check_(like)) {
    auto own = py::reinterpret_borrow<py::object>(like).attr("dtype");
    if (is_bfloat16(own)) return own;
  }
  try {
    return py::dtype::from_args(py::module_::import("ml_dtypes").attr("bfloat16"));
  } catch (py::error_already_set& failed) {
    if (!failed.matches(PyExc_ImportError)) throw;
    return py::dtype("V2");
  }
}

std::byte* numpy_data(PyObject* array) {
  return reinterpret_cast<std::byte*>(py::detail::array_proxy(array)->data);
}

// Large outputs are written faster from a multiple of 64 on (include/pooljit.hpp); numpy aligns to 16.
constexpr int64_t aligned_from = int64_t{8} << 20, alignment = 64;

// Memory with gaps, or aligned: a piece of a longer array of bytes. Gaps are zero.
py::object make_placed_numpy(const py::object& dtype, const ArrayForm& form, int64_t element, bool has_gaps) {
  int64_t span = element;
  std::vector<int64_t> shape, strides;
  for (size_t i = 0; i < form.rank; ++i) {
    shape.push_back(form.shape[i]);
    strides.push_back(form.strides[i] * element);
    span += (form.shape[i] - 1) * form.strides[i] * element;
  }
  const py::object bytes =
      py::module_::import("numpy").attr(has_gaps ? "zeros" : "empty")(span + alignment, py::dtype("|u1"));
  const auto address = reinterpret_cast<uintptr_t>(numpy_data(bytes.ptr()));
  const auto offset = static_cast<ssize_t>((alignment - address % alignment) % alignment);
  return py::module_::import("numpy").attr("ndarray")(tuple_of(shape), dtype, bytes, offset,
                                                      tuple_of(strides));
}

int64_t span_of(const ArrayForm& form) {
  int64_t span = 1;
  for (size_t i = 0; i < form.rank; ++i) span += (form.shape[i] - 1) * form.strides[i];
  return span;
}

py::object make_numpy(ir::DType dtype, const ArrayForm& form, PyObject* like) {
  npy_api& api = npy_api::get();
  const int64_t element = ir::bytes(dtype), elements = form.elements();
  const bool has_gaps = elements > 0 && span_of(form) != elements;
  if (elements > 0 && (has_gaps || elements * element >= aligned_from))
    return make_placed_numpy(numpy_dtype(dtype, like), form, element, has_gaps);
  py::object type = numpy_dtype(dtype, like);
  std::array<Py_intptr_t, most_dims> dims{}, strides{};
  for (size_t i = 0; i < form.rank; ++i) {
    dims[i] = form.shape[i];
    strides[i] = form.strides[i] * element;
  }
  return py::reinterpret_steal<py::object>(
      api.PyArray_NewFromDescr_(api.PyArray_Type_, type.release().ptr(), static_cast<int>(form.rank),
                                dims.data(), elements > 0 ? strides.data() : nullptr, nullptr, 0, nullptr));
}

}  // namespace

int64_t ArrayForm::elements() const {
  int64_t count = 1;
  for (const int64_t n : dims()) count *= n;
  return count;
}

std::string print_dims(std::span<const int64_t> dims) { return fmt::format("[{}]", fmt::join(dims, ",")); }

py::tuple tuple_of(std::span<const int64_t> numbers) {
  py::tuple tuple(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i)
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(numbers[i]));
  return tuple;
}

Array read_array(PyObject* object, const char* name) {
  if (is_exact_numpy(object)) return read_numpy(object, name);
  if (is_torch_tensor(object)) return read_torch(object, name);
  if (npy_api::get().PyArray_Check_(object)) {
    if (PyObject_HasAttrString(object, "mask"))
      refuse(object, name);  // a masked array: its mask would be lost
    return read_numpy(object, name);
  }
  if (PyObject_HasAttrString(object, "__dlpack__")) return read_dlpack(object, name);
  refuse(object, name);
}

MadeArray make_array(Library library, ir::DType dtype, const ArrayForm& form, PyObject* like) {
  if (library == Library::torch) return make_torch(dtype, form);
  py::object made = make_numpy(dtype, form, like);
  if (!made) throw py::error_already_set();
  std::byte* const data = numpy_data(made.ptr());
  return {std::move(made), data};
}

}  // namespace pooljit::python
