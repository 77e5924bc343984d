#include "ir/lane_text.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "ir/half.h"
#include "ir/parse_number.h"

namespace pooljit::ir {
namespace {

constexpr std::string_view nan_head = "nan(0x";

template <typename Float, typename Bits>
std::string float_text(Bits bits) {
  const auto value = std::bit_cast<Float>(bits);
  return std::isnan(value) ? fmt::format("{}{:x})", nan_head, bits) : fmt::format("{}", value);
}

// The shortest text that gives the same value; a float says every half.
template <typename Half>
std::string half_text(uint16_t bits) {
  const float value = Half::from_bits(bits);
  return std::isnan(value) ? fmt::format("{}{:x})", nan_head, bits) : fmt::format("{}", value);
}

bool is_nan_text(std::string_view text) { return text.starts_with(nan_head) && text.ends_with(')'); }

template <typename Bits>
std::optional<int64_t> read_nan(std::string_view text) {
  const auto bits = parse_number<Bits>(text.substr(nan_head.size(), text.size() - nan_head.size() - 1), 16);
  return bits ? std::optional(static_cast<int64_t>(*bits)) : std::nullopt;
}

template <typename Float, typename Bits>
std::optional<int64_t> read_float(std::string_view text) {
  if (is_nan_text(text)) return read_nan<Bits>(text);
  const auto value = parse_number<Float>(text);
  return value ? std::optional(static_cast<int64_t>(std::bit_cast<Bits>(*value))) : std::nullopt;
}

template <typename Half>
std::optional<int64_t> read_half(std::string_view text) {
  if (is_nan_text(text)) return read_nan<uint16_t>(text);
  const auto value = parse_number<float>(text);
  return value ? std::optional<int64_t>(Half(*value).bits) : std::nullopt;
}

}  // namespace

std::string print_lane(DType dtype, int64_t bits) {
  bits = lane_bits(dtype, bits);
  if (dtype == DType::f32) return float_text<float>(static_cast<uint32_t>(bits));
  if (dtype == DType::f16) return half_text<Float16>(static_cast<uint16_t>(bits));
  if (dtype == DType::bf16) return half_text<BFloat16>(static_cast<uint16_t>(bits));
  if (dtype == DType::f64) return float_text<double>(static_cast<uint64_t>(bits));
  return is_signed_int(dtype) ? fmt::format("{}", bits) : fmt::format("{}", static_cast<uint64_t>(bits));
}

std::optional<int64_t> parse_lane(DType dtype, std::string_view text) {
  if (dtype == DType::f32) return read_float<float, uint32_t>(text);
  if (dtype == DType::f16) return read_half<Float16>(text);
  if (dtype == DType::bf16) return read_half<BFloat16>(text);
  if (dtype == DType::f64) return read_float<double, uint64_t>(text);
  if (const auto value = parse_number<int64_t>(text)) return value;
  const auto wide = parse_number<uint64_t>(text);
  return wide ? std::optional(static_cast<int64_t>(*wide)) : std::nullopt;
}

}  // namespace pooljit::ir
