#include "proof/bytes/byte_ops.h"

namespace pooljit::jit::x86 {

std::optional<TwoBitOps> two_bit_ops(uint8_t table) {
  constexpr BitOp ops[] = {BitOp::and_, BitOp::or_, BitOp::xor_, BitOp::and_not};
  // The tables of the operands themselves.
  constexpr uint64_t operands[] = {0xf0, 0xcc, 0xaa, 0xff};
  constexpr size_t count = std::size(operands);
  for (const BitOp inner : ops)
    for (const BitOp outer : ops)
      for (size_t places = 0; places < 2 * count * count * count; ++places) {
        const TwoBitOps found = {
            inner,          outer, places / 2 % count, places / 2 / count % count, places / 2 / count / count,
            places % 2 == 0};
        const uint64_t first = combine(inner, operands[found.a], operands[found.b]),
                       other = operands[found.c];
        const uint64_t made =
            found.is_inner_first ? combine(outer, first, other) : combine(outer, other, first);
        if ((made & 0xff) == table) return found;
      }
  return std::nullopt;
}

}  // namespace pooljit::jit::x86
