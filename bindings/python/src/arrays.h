// Arrays of other libraries, seen without a copy: numpy's, PyTorch's, and whatever has __dlpack__.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "ir/dtype.h"

namespace pooljit::python {

namespace py = pybind11;

inline constexpr size_t most_dims = 8;

// Dimensions and strides, outermost first; strides in elements.
struct ArrayForm {
  size_t rank = 0;
  std::array<int64_t, most_dims> shape{}, strides{};

  std::span<const int64_t> dims() const { return {shape.data(), rank}; }
  int64_t elements() const;
};
std::string print_dims(std::span<const int64_t> dims);  // "[1,64,112,112]"
py::tuple tuple_of(std::span<const int64_t> numbers);
// Packed row by row: the last dimension lies together.
inline void set_packed_strides(ArrayForm& form) {
  int64_t stride = 1;
  for (size_t i = form.rank; i-- > 0;) {
    form.strides[i] = stride;
    stride *= std::max<int64_t>(form.shape[i], 1);
  }
}

// Whose array it is, and so whose the result will be.
enum class Library : uint8_t { numpy, torch, other };

struct Array {
  Library library = Library::numpy;
  ir::DType dtype = ir::DType::f32;
  bool is_writable = true;
  bool is_packed = false;  // row by row
  ArrayForm form;
  std::byte* data = nullptr;
  py::object keeper;  // holds the memory of an array of another library
};

// `name` is what the array is called in an error: "input". Errors: "python.array" (no array, or one whose
// elements cannot be reached), "python.dtype", "python.device", "python.strides" (negative, or no whole
// number of elements), "python.shape" (more than 8 dimensions).
Array read_array(PyObject* object, const char* name);

struct MadeArray {
  py::object object;
  std::byte* data;  // the first element
};

// A new array, not filled, of the library and, for dtypes that a library has no name for, with the type
// object of `like`.
MadeArray make_array(Library library, ir::DType dtype, const ArrayForm& form, PyObject* like);

}  // namespace pooljit::python
