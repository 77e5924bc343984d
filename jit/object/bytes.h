// Numbers as object files have them: little-endian, at any alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace pooljit::jit {

template <typename T>
void append_number(std::vector<uint8_t>& out, std::type_identity_t<T> value) {
  const size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

template <typename T>
T number_at(std::span<const uint8_t> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename T>
void put_number(std::span<uint8_t> bytes, size_t at, std::type_identity_t<T> value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// Unsigned, seven bits a byte, the lowest first.
inline void append_leb128(std::vector<uint8_t>& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<uint8_t>(value | 0x80));
  out.push_back(static_cast<uint8_t>(value));
}

inline size_t align_up(size_t value, size_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace pooljit::jit
