// Element types, from the table ir/dtype.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pooljit::ir {

enum class DType : uint8_t {
#define DTYPE(name, spec, text, bits, cls, npy, tensor, note) name,
#include "ir/dtype.def"
#undef DTYPE
};

enum class DTypeClass : uint8_t { unsigned_int, signed_int, floating };

struct DTypeInfo {
  DType dtype;
  std::string_view spec_name;  // "float32"
  std::string_view text;       // "f32"
  int bits;
  DTypeClass cls;
  std::string_view npy;  // numpy's descr on a little-endian machine
  bool tensor;           // a spec may use it for its tensors
};

inline constexpr DTypeInfo dtype_table[] = {
#define DTYPE(name, spec, text, bits, cls, npy, tensor, note) \
  {DType::name, spec, text, bits, DTypeClass::cls, npy, tensor != 0},
#include "ir/dtype.def"
#undef DTYPE
};

constexpr const DTypeInfo& info(DType dtype) { return dtype_table[static_cast<int>(dtype)]; }
constexpr int bytes(DType dtype) { return info(dtype).bits / 8; }
constexpr bool is_float(DType dtype) { return info(dtype).cls == DTypeClass::floating; }
// float16 and bfloat16: no op computes on them; arithmetic is done in float32.
constexpr bool is_half(DType dtype) { return is_float(dtype) && info(dtype).bits == 16; }
constexpr bool is_signed_int(DType dtype) { return info(dtype).cls == DTypeClass::signed_int; }

// The unsigned integer type of the same width: what a mask's lanes are as wide as.
constexpr DType unsigned_of(DType dtype) {
  switch (info(dtype).bits) {
    case 8:
      return DType::u8;
    case 16:
      return DType::u16;
    case 32:
      return DType::u32;
    default:
      return DType::u64;
  }
}

constexpr DType signed_of(DType dtype) {
  switch (info(dtype).bits) {
    case 8:
      return DType::i8;
    case 16:
      return DType::i16;
    case 32:
      return DType::i32;
    default:
      return DType::i64;
  }
}

// The one way a lane's bits are kept in 64: sign-extended for signed integers, else zero-extended.
constexpr int64_t lane_bits(DType dtype, int64_t value) {
  const int unused = 64 - info(dtype).bits;
  const auto high = static_cast<uint64_t>(value) << unused;
  return is_signed_int(dtype) ? static_cast<int64_t>(high) >> unused : static_cast<int64_t>(high >> unused);
}

constexpr std::optional<DType> find_dtype(std::string_view spec_name) {
  for (const DTypeInfo& row : dtype_table)
    if (row.spec_name == spec_name) return row.dtype;
  return std::nullopt;
}

}  // namespace pooljit::ir
