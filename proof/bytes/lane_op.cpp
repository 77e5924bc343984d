// Compiled without contraction of a * b + c: each operation rounds once.
#include "proof/bytes/lane_op.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "ir/half.h"
#include "ir/interp/lane_type.h"

namespace pooljit::jit::x86 {
namespace {

using ir::DType;
using ir::Op;

template <typename T>
T from_bits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <typename T>
uint64_t to_bits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <typename To, typename From>
To converted(From from, bool saturate) {
  using Limits = std::numeric_limits<To>;
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    const From whole = std::nearbyint(from);
    const From end = std::ldexp(From{1}, Limits::digits);
    return whole >= -end && whole < end ? static_cast<To>(whole) : Limits::min();
  } else if constexpr (std::is_integral_v<To>) {
    if (saturate && std::cmp_less(from, Limits::min())) return Limits::min();
    if (saturate && std::cmp_greater(from, Limits::max())) return Limits::max();
    return static_cast<To>(from);
  } else {
    return static_cast<To>(from);
  }
}

uint64_t convert(const LaneOp& op, uint64_t bits) {
  if (op.from == DType::f16) return to_bits(float(from_bits<ir::Float16>(bits)));
  if (op.type == DType::f16) return to_bits(ir::Float16(from_bits<float>(bits)));
  return ir::with_lane_type(op.from, [&](auto from) {
    using From = decltype(from);
    return ir::with_lane_type(op.type, [&](auto to) {
      return to_bits(converted<decltype(to), From>(from_bits<From>(bits), op.saturate));
    });
  });
}

uint64_t shifted(const LaneOp& op, uint64_t bits) {
  return ir::with_lane_type(op.type, [&](auto zero) -> uint64_t {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      constexpr int64_t width = 8 * sizeof(T);
      const T a = from_bits<T>(bits);
      if (op.imm >= width) return to_bits(static_cast<T>(std::is_signed_v<T> && a < 0 ? -1 : 0));
      return to_bits(static_cast<T>(op.op == Op::shl ? static_cast<uint64_t>(a) << op.imm
                                                     : static_cast<uint64_t>(a >> op.imm)));
    } else {
      return 0;
    }
  });
}

}  // namespace

TakenBytes taken_bytes(const LaneOp& op) {
  const int width = ir::bytes(op.from),
            shifted_out = static_cast<int>(std::min<int64_t>(op.imm / 8, width - 1));
  if (op.op == Op::shr) return {shifted_out, width - shifted_out};
  if (op.op == Op::shl) return {0, width - shifted_out};
  const bool keeps_low = op.op == Op::cvt && !op.saturate && !ir::is_float(op.type) && !ir::is_float(op.from);
  return {0, keeps_low ? std::min(width, ir::bytes(op.type)) : width};
}

uint64_t compute(const LaneOp& op, const std::array<uint64_t, 3>& args) {
  if (op.op == Op::cvt) return convert(op, args[0]);
  if (op.op == Op::shl || op.op == Op::shr) return shifted(op, args[0]);
  return ir::with_lane_type(op.from, [&](auto zero) {
    using T = decltype(zero);
    const T a = from_bits<T>(args[0]), b = from_bits<T>(args[1]);
    if (op.op == Op::cmp) return ir::holds(op.pred, a, b) ? ~uint64_t{0} : 0;
    if constexpr (std::is_floating_point_v<T>) switch (op.op) {
        case Op::div:
          return to_bits(a / b);
        case Op::propagate:
          return std::isnan(a) ? args[0] : args[1];
        case Op::sqrt:
          return to_bits(std::sqrt(a));
        case Op::fma:
          return to_bits(std::fma(a, b, from_bits<T>(args[2])));
        default:
          break;
      }
    return to_bits(ir::arithmetic(op.op, a, b));
  });
}

}  // namespace pooljit::jit::x86
