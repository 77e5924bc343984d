// Operations on bytes that every domain of proof/bytes/executor.h has.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "proof/bytes/lane_op.h"

namespace pooljit::jit::x86 {

enum class BitOp : uint8_t { and_, and_not, or_, xor_ };  // and_not: of the first

constexpr uint64_t combine(BitOp op, uint64_t a, uint64_t b) {
  return op == BitOp::and_ ? a & b : op == BitOp::and_not ? ~a & b : op == BitOp::or_ ? a | b : a ^ b;
}

// The result of an operation on bytes if one operand is a number: that operand or the other, or a number.
enum class Kept : uint8_t { a, b, zero, ones };
constexpr std::optional<Kept> kept_by(BitOp op, std::optional<uint8_t> a, std::optional<uint8_t> b) {
  const auto is = [](std::optional<uint8_t> byte, uint8_t value) { return byte && *byte == value; };
  switch (op) {
    case BitOp::and_:
      if (is(a, 0) || is(b, 0)) return Kept::zero;
      return is(a, 0xff) ? std::optional(Kept::b) : is(b, 0xff) ? std::optional(Kept::a) : std::nullopt;
    case BitOp::and_not:
      if (is(a, 0xff) || is(b, 0)) return Kept::zero;
      return is(a, 0) ? std::optional(Kept::b) : std::nullopt;
    case BitOp::or_:
      if (is(a, 0xff) || is(b, 0xff)) return Kept::ones;
      return is(a, 0) ? std::optional(Kept::b) : is(b, 0) ? std::optional(Kept::a) : std::nullopt;
    case BitOp::xor_:
      return is(a, 0) ? std::optional(Kept::b) : is(b, 0) ? std::optional(Kept::a) : std::nullopt;
  }
  return std::nullopt;
}

// outer(inner(a, b), c), or outer(c, inner(a, b)), of the operands of these numbers; `ones` are all ones.
struct TwoBitOps {
  static constexpr size_t ones = 3;
  BitOp inner, outer;
  size_t a, b, c;
  bool is_inner_first;
};
// The two operations that equal a table of eight bits, indexed by the bits of three operands, the first one's
// the highest; none: it takes more.
std::optional<TwoBitOps> two_bit_ops(uint8_t table);

// The only operand of an operation without the bytes that the result does not depend on: zeros instead.
template <typename Byte>
class TakenOperand {
 public:
  TakenOperand(const LaneOp& op, std::array<const Byte*, 3>& args) {
    if (operands(op.op) > 1) return;
    const TakenBytes taken = taken_bytes(op);
    if (taken.count == ir::bytes(op.from)) return;
    std::copy_n(args[0] + taken.first, taken.count, bytes_.begin() + taken.first);
    args[0] = bytes_.data();
  }

 private:
  std::array<Byte, 8> bytes_{};
};

}  // namespace pooljit::jit::x86
