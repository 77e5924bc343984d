// How a floating dtype's bits are laid out, and numbers as its bits.
#pragma once

#include <cmath>
#include <cstdint>

#include "ir/dtype.h"

namespace pooljit::ir {

// Bits of the mantissa that are stored; of a dtype that is no float, 0.
constexpr int mantissa_bits(DType dtype) {
  if (!is_float(dtype)) return 0;
  switch (info(dtype).bits) {
    case 64:
      return 52;
    case 32:
      return 23;
    default:
      return info(dtype).text == "bf16" ? 7 : 10;
  }
}

constexpr uint64_t sign_bit(DType dtype) { return uint64_t{1} << (info(dtype).bits - 1); }
constexpr uint64_t infinity_bits(DType dtype) {
  return ((uint64_t{1} << (info(dtype).bits - 1 - mantissa_bits(dtype))) - 1) << mantissa_bits(dtype);
}
constexpr uint64_t quiet_nan_bits(DType dtype) {
  return infinity_bits(dtype) | uint64_t{1} << (mantissa_bits(dtype) - 1);
}
constexpr bool is_nan_bits(DType dtype, uint64_t bits) {
  return is_float(dtype) && (bits & (sign_bit(dtype) - 1)) > infinity_bits(dtype);
}

// The bits of a whole number that the dtype holds exactly (not checked), in the low bits of the result.
inline uint64_t bits_of_integer(DType dtype, int64_t value) {
  if (!is_float(dtype)) {
    const int unused = 64 - info(dtype).bits;
    return static_cast<uint64_t>(value) << unused >> unused;
  }
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(static_cast<double>(value)), &exponent);  // in [1/2, 1)
  const int mantissa = mantissa_bits(dtype);
  const auto bias = static_cast<int64_t>(infinity_bits(dtype) >> (mantissa + 1));
  const auto digits = static_cast<uint64_t>(std::ldexp(fraction, mantissa + 1));  // the first one is implicit
  const uint64_t sign = value < 0 ? sign_bit(dtype) : 0;
  // The implicit digit counts as one in the exponent's field.
  return sign | ((static_cast<uint64_t>(bias + exponent - 2) << mantissa) + digits);
}

}  // namespace pooljit::ir
