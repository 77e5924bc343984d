// The C++ types of tensors' elements.
#pragma once

#include <cstdint>
#include <cstring>

#include "ir/check.h"
#include "ir/dtype.h"
#include "ir/half.h"

namespace pooljit::ir {

// Calls visit with a value of the C++ type of a tensor's elements. To add a dtype: a row here.
template <typename Visit>
auto with_element_type(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::u8:
      return visit(uint8_t{});
    case DType::i8:
      return visit(int8_t{});
    case DType::i16:
      return visit(int16_t{});
    case DType::i32:
      return visit(int32_t{});
    case DType::i64:
      return visit(int64_t{});
    case DType::f16:
      return visit(Float16{});
    case DType::bf16:
      return visit(BFloat16{});
    case DType::f32:
      return visit(float{});
    case DType::f64:
      return visit(double{});
    default:
      fail_check(__FILE__, __LINE__, "a tensor's dtype", info(dtype).spec_name);
  }
}

// Elements where callers keep them, which is at any address.
template <typename T>
T load_element(const void* data, int64_t at) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + at * int64_t{sizeof(T)}, sizeof(T));
  return value;
}

template <typename T>
void store_element(void* data, int64_t at, T value) {
  std::memcpy(static_cast<char*>(data) + at * int64_t{sizeof(T)}, &value, sizeof(T));
}

}  // namespace pooljit::ir
