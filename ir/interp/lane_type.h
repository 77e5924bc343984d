// The C++ types that lanes are computed in, and what arithmetic and comparisons mean of them. To be included
// where a * b + c is not contracted (CMakeLists.txt).
#pragma once

#include <cstdint>
#include <type_traits>

#include "ir/check.h"
#include "ir/dtype.h"
#include "ir/inst.h"

namespace pooljit::ir {

// Calls f with a value of the C++ type of a dtype that is computed in (no halves).
template <typename F>
auto with_lane_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::u8:
      return f(uint8_t{});
    case DType::i8:
      return f(int8_t{});
    case DType::u16:
      return f(uint16_t{});
    case DType::i16:
      return f(int16_t{});
    case DType::u32:
      return f(uint32_t{});
    case DType::i32:
      return f(int32_t{});
    case DType::u64:
      return f(uint64_t{});
    case DType::i64:
      return f(int64_t{});
    case DType::f32:
      return f(float{});
    default:
      return f(double{});
  }
}

// add, sub, mul, mulh, mull, min, max.
template <typename T>
T arithmetic(Op op, T a, T b) {
  // Integers wrap: computed as unsigned, which is wide enough not to be promoted to int.
  using Wide = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;
  switch (op) {
    case Op::add:
      return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
    case Op::sub:
      return static_cast<T>(static_cast<Wide>(a) - static_cast<Wide>(b));
    case Op::mul:
      return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
    case Op::mulh:
      if constexpr (std::is_integral_v<T> && sizeof(T) == 2)
        return static_cast<T>(int64_t{a} * b >> 16);
      else
        break;
    case Op::mull:
      if constexpr (std::is_same_v<T, uint64_t>)
        return (a & 0xffffffff) * (b & 0xffffffff);
      else
        break;
    case Op::min:
      return a < b ? a : b;
    case Op::max:
      return a > b ? a : b;
    default:
      break;
  }
  fail_check(__FILE__, __LINE__, "arithmetic on two lanes", info(op).text);
}

template <typename T>
bool holds(Predicate pred, T a, T b) {
  switch (pred) {
    case Predicate::eq:
      return a == b;
    case Predicate::ne:
      return a != b;
    case Predicate::lt:
      return a < b;
    case Predicate::le:
      return a <= b;
    case Predicate::gt:
      return a > b;
    case Predicate::ge:
      return a >= b;
    default:
      return a != a || b != b;
  }
}

}  // namespace pooljit::ir
