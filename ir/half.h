// float16 and bfloat16 in C++: storage, and exact conversions to and from float. They define cvt
// (ir/ops.def); the interpreter, the reference and the tools share them.
//
// Widening is exact. Narrowing rounds to nearest, ties to even; denormals are kept. A NaN stays a NaN: it
// becomes quiet (but for bfloat16 to float, which only moves bits) and keeps its sign and the upper bits of
// its payload.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace pooljit::ir {

// To nearest, ties to even; 0 < count < 32.
constexpr uint32_t rounded_shift(uint32_t value, int count) {
  const uint32_t quotient = value >> count;
  const uint32_t rest = value & ((uint32_t{1} << count) - 1), half = uint32_t{1} << (count - 1);
  return quotient + (rest > half || (rest == half && quotient % 2 == 1) ? 1 : 0);
}

// IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
struct Float16 {
  static constexpr uint16_t infinity_bits = 0x7c00;

  uint16_t bits;

  Float16() = default;
  constexpr explicit Float16(float value) : bits(narrowed(std::bit_cast<uint32_t>(value))) {}
  constexpr operator float() const {
    const uint32_t sign = uint32_t{bits & 0x8000U} << 16, magnitude = uint32_t{bits & 0x7fffU} << 13;
    // The product puts the exponent right, and makes normal numbers of denormal ones. No branches: the
    // reference converts every tap.
    const auto finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
    constexpr uint32_t infinity = uint32_t{infinity_bits} << 13;
    const uint32_t special = 0x7f800000U | magnitude | (magnitude > infinity ? 0x400000U : 0U);
    return std::bit_cast<float>(sign | (magnitude >= infinity ? special : finite));
  }
  static constexpr Float16 from_bits(uint16_t bits) {
    Float16 value;
    value.bits = bits;
    return value;
  }

 private:
  static constexpr uint16_t narrowed(uint32_t value) {
    const uint32_t sign = value >> 16 & 0x8000, magnitude = value & 0x7fffffff;
    uint32_t narrow = infinity_bits;
    if (magnitude > 0x7f800000)  // a NaN
      narrow = 0x7e00 | (magnitude >> 13 & 0x3ff);
    else if (magnitude < 0x33000000)  // at most half of the smallest denormal, 2^-24
      narrow = 0;
    else if (magnitude < 0x38800000)  // below the smallest normal number, 2^-14: multiples of 2^-24
      narrow = rounded_shift((magnitude & 0x7fffff) | 0x800000, 126 - static_cast<int>(magnitude >> 23));
    else if (magnitude < 0x47800000)  // below 2^16; what rounds up to that becomes infinity by itself
      narrow = rounded_shift(magnitude - (112U << 23), 13);
    return static_cast<uint16_t>(sign | narrow);
  }
};

// The upper half of a binary32: 8 bits of exponent, 7 of fraction.
struct BFloat16 {
  static constexpr uint16_t infinity_bits = 0x7f80;

  uint16_t bits;

  BFloat16() = default;
  constexpr explicit BFloat16(float value) : bits(narrowed(std::bit_cast<uint32_t>(value))) {}
  constexpr operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
  static constexpr BFloat16 from_bits(uint16_t bits) {
    BFloat16 value;
    value.bits = bits;
    return value;
  }

 private:
  static constexpr uint16_t narrowed(uint32_t value) {
    const bool is_nan = (value & 0x7fffffff) > 0x7f800000;
    return static_cast<uint16_t>(is_nan ? value >> 16 | 0x40 : rounded_shift(value, 16));
  }
};

template <typename T>
inline constexpr bool is_half_type = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <typename T>
inline constexpr bool is_float_type = std::is_floating_point_v<T> || is_half_type<T>;
// The type that floats of type T are summed in.
template <typename T>
using FloatSum = std::conditional_t<is_half_type<T>, float, T>;

}  // namespace pooljit::ir

template <>
struct std::numeric_limits<pooljit::ir::Float16> {
  using T = pooljit::ir::Float16;
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, has_infinity = true;
  static constexpr int digits = 11;
  static constexpr T infinity() { return T::from_bits(T::infinity_bits); }
  static constexpr T quiet_NaN() { return T::from_bits(0x7e00); }
  static constexpr T epsilon() { return T::from_bits(0x1400); }     // 2^-10
  static constexpr T min() { return T::from_bits(0x0400); }         // 2^-14
  static constexpr T denorm_min() { return T::from_bits(0x0001); }  // 2^-24
  static constexpr T max() { return T::from_bits(0x7bff); }
  static constexpr T lowest() { return T::from_bits(0xfbff); }
};

template <>
struct std::numeric_limits<pooljit::ir::BFloat16> {
  using T = pooljit::ir::BFloat16;
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, has_infinity = true;
  static constexpr int digits = 8;
  static constexpr T infinity() { return T::from_bits(T::infinity_bits); }
  static constexpr T quiet_NaN() { return T::from_bits(0x7fc0); }
  static constexpr T epsilon() { return T::from_bits(0x3c00); }     // 2^-7
  static constexpr T min() { return T::from_bits(0x0080); }         // 2^-126
  static constexpr T denorm_min() { return T::from_bits(0x0001); }  // 2^-133
  static constexpr T max() { return T::from_bits(0x7f7f); }
  static constexpr T lowest() { return T::from_bits(0xff7f); }
};
