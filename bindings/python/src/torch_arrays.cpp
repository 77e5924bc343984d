#include "bindings/python/src/torch_arrays.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

#include "bindings/python/src/errors.h"
#include "bindings/python/src/torch_access.h"

namespace pooljit::python {
namespace {

PyObject* held(py::handle object, const char* name) { return py::object(object.attr(name)).release().ptr(); }
PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }

// The short way, if it was compiled for the PyTorch that is loaded; else null. Its libraries are looked for
// among those of the process first: a second copy of PyTorch's would be loaded otherwise.
const TorchAccess* find_access() {
#ifdef POOLJIT_TORCH_SONAME
  if (!::dlopen(POOLJIT_TORCH_SONAME, RTLD_LAZY | RTLD_NOLOAD)) return nullptr;
  try {
    const py::object capsule = py::module_::import(TorchAccess::module).attr("access");
    return static_cast<const TorchAccess*>(PyCapsule_GetPointer(capsule.ptr(), TorchAccess::capsule));
  } catch (py::error_already_set& failed) {
    if (!failed.matches(PyExc_ImportError)) throw;
  }
#endif
  return nullptr;
}

// What is looked up once. References are kept to the end of the process: other threads may be at work when
// the interpreter ends.
struct Torch {
  PyObject* module;
  PyTypeObject *tensor, *parameter;
  const TorchAccess* access;
  PyObject *empty, *empty_strided;
  PyObject* increment_version;  // null: PyTorch before 2.1
  PyObject *data_ptr = interned("data_ptr"), *shape = interned("shape"), *stride = interned("stride"),
           *dtype = interned("dtype"), *is_cpu = interned("is_cpu"),
           *is_contiguous = interned("is_contiguous"), *is_neg = interned("is_neg"), *dtype_names;
  std::array<PyObject*, std::size(ir::dtype_table)> dtypes{};  // null: torch has none of that name

  explicit Torch(PyObject* loaded) : module(Py_NewRef(loaded)) {
    const py::handle torch(module);
    tensor = reinterpret_cast<PyTypeObject*>(held(torch, "Tensor"));
    parameter = reinterpret_cast<PyTypeObject*>(held(torch.attr("nn"), "Parameter"));
    access = find_access();
    const py::object graph = torch.attr("autograd").attr("graph");
    increment_version = py::getattr(graph, "increment_version", py::handle()).release().ptr();
    empty = held(torch, "empty");
    empty_strided = held(torch, "empty_strided");
    dtype_names = py::make_tuple("dtype").release().ptr();
    for (const ir::DTypeInfo& row : ir::dtype_table)
      if (row.tensor)
        dtypes[static_cast<size_t>(row.dtype)] = held(torch, std::string(row.spec_name).c_str());
  }
};

// Null as long as nobody has imported torch.
const Torch* loaded_torch() {
  static const Torch* torch = nullptr;
  if (torch) return torch;
  PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  // It may be half imported, by another thread.
  PyObject* const nn = PyDict_GetItemString(PyImport_GetModuleDict(), "torch.nn");
  if (!module || !nn || !PyObject_HasAttrString(module, "empty_strided") ||
      !PyObject_HasAttrString(nn, "Parameter"))
    return nullptr;
  torch = new Torch(module);
  return torch;
}

py::object called(PyObject* object, PyObject* method) {
  auto result = py::reinterpret_steal<py::object>(PyObject_CallMethodNoArgs(object, method));
  if (!result) throw py::error_already_set();
  return result;
}

py::object member(PyObject* object, PyObject* name) {
  auto result = py::reinterpret_steal<py::object>(PyObject_GetAttr(object, name));
  if (!result) throw py::error_already_set();
  return result;
}

size_t read_numbers(PyObject* tuple, std::array<int64_t, most_dims>& numbers, const char* name) {
  const auto count = static_cast<size_t>(PyTuple_GET_SIZE(tuple));
  if (count > most_dims)
    raise(ir::invalid("python.shape", fmt::format("{} has {} dimensions", name, count),
                      "[N,C,SPATIAL...], with one to three spatial dimensions"));
  for (size_t i = 0; i < count; ++i)
    numbers[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(i)));
  return count;
}

ir::DType read_dtype(const Torch& torch, PyObject* tensor, const char* name) {
  const py::object dtype = member(tensor, torch.dtype);
  const auto found = std::ranges::find(torch.dtypes, dtype.ptr());
  if (found == torch.dtypes.end())
    raise(ir::invalid(
        "python.dtype", fmt::format("{} has elements of {}", name, py::str(dtype).cast<std::string>()),
        "float32, float64, float16, bfloat16, uint8, int8, int16, int32 or int64; of a quantized "
        "tensor, its int_repr()"));
  return static_cast<ir::DType>(found - torch.dtypes.begin());
}

bool is_true(PyObject* object) { return object == Py_True; }

std::byte* torch_data(PyObject* tensor) {
  return static_cast<std::byte*>(PyLong_AsVoidPtr(called(tensor, loaded_torch()->data_ptr).ptr()));
}

}  // namespace

bool is_torch_tensor(PyObject* object) {
  const Torch* const torch = loaded_torch();
  return torch && PyObject_TypeCheck(object, torch->tensor);
}

bool has_torch_access() {
  const Torch* const torch = loaded_torch();
  return torch && torch->access;
}

Array read_torch(PyObject* object, const char* name) {
  const Torch& torch = *loaded_torch();
  Array array;
  array.library = Library::torch;
  // A subclass may mean something else by its methods.
  const bool is_exact = Py_IS_TYPE(object, torch.tensor) || Py_IS_TYPE(object, torch.parameter);
  if (is_exact && torch.access && torch.access->read(object, array)) return array;
  if (!is_true(member(object, torch.is_cpu).ptr()))
    raise(ir::invalid(
        "python.device",
        fmt::format("{} lies on {}", name, py::str(py::handle(object).attr("device")).cast<std::string>()),
        "x.cpu() copies it to the CPU"));
  array.dtype = read_dtype(torch, object, name);
  try {
    array.data = torch_data(object);
    array.is_packed = is_true(called(object, torch.is_contiguous).ptr());
    array.form.rank = read_numbers(member(object, torch.shape).ptr(), array.form.shape, name);
    if (array.is_packed)
      set_packed_strides(array.form);
    else
      read_numbers(called(object, torch.stride).ptr(), array.form.strides, name);
  } catch (py::error_already_set& refused) {  // sparse, or without storage
    raise(ir::invalid("python.array", fmt::format("{} has no memory of its own: {}", name, refused.what()),
                      "a dense tensor"));
  }
  // x.imag of a conjugate is a view whose elements are the negated ones: strided, or a single one.
  if ((!array.is_packed || array.form.elements() == 1) && is_true(called(object, torch.is_neg).ptr()))
    raise(ir::invalid("python.array", fmt::format("{} is a view that negates its elements", name),
                      "x.resolve_neg() copies"));
  return array;
}

void note_written(PyObject* tensor) {
  const Torch& torch = *loaded_torch();
  if (torch.access) {
    torch.access->written(tensor);
  } else if (torch.increment_version) {
    const auto done = py::reinterpret_steal<py::object>(PyObject_CallOneArg(torch.increment_version, tensor));
    if (!done) throw py::error_already_set();
  }
}

MadeArray make_torch(ir::DType dtype, const ArrayForm& form) {
  const Torch& torch = *loaded_torch();
  ArrayForm packed = form;
  set_packed_strides(packed);
  const bool is_packed = packed.strides == form.strides;
  std::byte* data = nullptr;
  if (torch.access)
    if (PyObject* const made = torch.access->make(dtype, form, is_packed, &data))
      return {py::reinterpret_steal<py::object>(made), data};
  const py::tuple shape = tuple_of(form.dims());
  PyObject* const type = torch.dtypes[static_cast<size_t>(dtype)];
  const py::tuple strides = tuple_of({form.strides.data(), form.rank});
  PyObject* const of_packed[] = {shape.ptr(), type};
  PyObject* const of_strided[] = {shape.ptr(), strides.ptr(), type};
  auto made = py::reinterpret_steal<py::object>(
      is_packed ? PyObject_Vectorcall(torch.empty, of_packed, 1, torch.dtype_names)
                : PyObject_Vectorcall(torch.empty_strided, of_strided, 2, torch.dtype_names));
  if (!made) throw py::error_already_set();
  data = torch_data(made.ptr());
  return {std::move(made), data};
}

}  // namespace pooljit::python
