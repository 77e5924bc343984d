#include "ir/lane_text.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>

namespace pooljit::ir {
namespace {

constexpr std::string_view nan_head = "nan(0x";

template <typename Float, typename Bits>
std::string float_text(Bits bits) {
  const auto value = std::bit_cast<Float>(bits);
  return std::isnan(value) ? fmt::format("{}{:x})", nan_head, bits) : fmt::format("{}", value);
}

template <typename T, typename... Base>
std::optional<T> read(std::string_view text, Base... base) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename Float, typename Bits>
std::optional<int64_t> read_float(std::string_view text) {
  if (text.starts_with(nan_head) && text.ends_with(')')) {
    const auto bits = read<Bits>(text.substr(nan_head.size(), text.size() - nan_head.size() - 1), 16);
    return bits ? std::optional(static_cast<int64_t>(*bits)) : std::nullopt;
  }
  const auto value = read<Float>(text);
  return value ? std::optional(static_cast<int64_t>(std::bit_cast<Bits>(*value))) : std::nullopt;
}

}  // namespace

std::string print_lane(DType dtype, int64_t bits) {
  bits = lane_bits(dtype, bits);
  if (dtype == DType::f32) return float_text<float>(static_cast<uint32_t>(bits));
  if (dtype == DType::f64) return float_text<double>(static_cast<uint64_t>(bits));
  return is_signed_int(dtype) ? fmt::format("{}", bits) : fmt::format("{}", static_cast<uint64_t>(bits));
}

std::optional<int64_t> parse_lane(DType dtype, std::string_view text) {
  if (dtype == DType::f32) return read_float<float, uint32_t>(text);
  if (dtype == DType::f64) return read_float<double, uint64_t>(text);
  if (const auto value = read<int64_t>(text)) return value;
  const auto wide = read<uint64_t>(text);
  return wide ? std::optional(static_cast<int64_t>(*wide)) : std::nullopt;
}

}  // namespace pooljit::ir
