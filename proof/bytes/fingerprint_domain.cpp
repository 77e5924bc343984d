#include "proof/bytes/fingerprint_domain.h"

#include <algorithm>
#include <optional>

namespace pooljit::jit::x86 {
namespace {

using Byte = FingerprintDomain::Byte;

// The parts of a fingerprint.
enum class Tag : uint64_t { input = 1, number, bytes, lane, bits, choice, unwritten };

template <typename Number>
Number joined(Number a, Number b) {
  if (a == b || b == PlaneOf::any) return a;
  return a == PlaneOf::any ? b : std::min({a, b, Number{PlaneOf::mixed}});
}

PlaneOf joined(PlaneOf a, PlaneOf b) { return {joined(a.c, b.c), joined(a.n, b.n)}; }

PlaneOf plane_of(const Byte* bytes, int width) {
  PlaneOf plane = bytes[0].plane();
  for (int i = 1; i < width; ++i) plane = joined(plane, bytes[i].plane());
  return plane;
}

// All bytes of one expression, in order.
bool is_whole(const Byte* bytes, int width) {
  if (bytes[0].is_known || bytes[0].number != 0) return false;
  Byte last = bytes[0];
  last.number = 1;
  const uint64_t value = bytes[0].value, step = last.tags() - bytes[0].tags();
  uint64_t tags = bytes[0].tags(), others = 0;
  for (int i = 1; i < width; ++i) others |= (bytes[i].value ^ value) | (bytes[i].tags() ^ (tags += step));
  return others == 0;
}

bool all_known(const Byte* bytes, int width) {
  for (int i = 0; i < width; ++i)
    if (!bytes[i].is_known) return false;
  return true;
}

uint64_t number_of(const Byte* bytes, int width) {
  uint64_t number = 0;
  for (int i = 0; i < width; ++i) number |= bytes[i].value << 8 * i;
  return number;
}

// is_mask: what was compared is one for all of its bytes.
void put(uint64_t value, PlaneOf plane, bool is_mask, Byte* to, int width) {
  for (int i = 0; i < width; ++i)
    to[i] = {value, plane.c, plane.n, is_mask ? uint8_t{0} : static_cast<uint8_t>(i), false};
}

uint64_t code_of(const LaneOp& op) {
  return static_cast<uint64_t>(op.op) | static_cast<uint64_t>(op.type) << 8 |
         static_cast<uint64_t>(op.from) << 16 | static_cast<uint64_t>(op.pred) << 24 |
         static_cast<uint64_t>(op.saturate) << 32 | static_cast<uint64_t>(op.imm) << 40;
}

}  // namespace

// A bijection of either, for each value of the other, that the seed chooses.
uint64_t FingerprintDomain::mixed(uint64_t hash, uint64_t word) const {
  uint64_t mixed = (hash ^ seed_) * 0x9e3779b97f4a7c15 + word;
  mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93;
  mixed = (mixed ^ mixed >> 32 ^ seed_) * 0xd6e8feb86659fd93;
  return mixed ^ mixed >> 32;
}

void FingerprintDomain::input(int buffer, int64_t place, PlaneOf plane, Byte* to, int width) const {
  const uint64_t of_buffer = mixed(static_cast<uint64_t>(Tag::input), static_cast<uint64_t>(buffer));
  put(mixed(of_buffer, static_cast<uint64_t>(place)), plane, false, to, width);
}

Byte FingerprintDomain::unwritten(size_t number) const {
  const uint64_t value = mixed(static_cast<uint64_t>(Tag::unwritten), number);
  return {value, PlaneOf::unwritten, PlaneOf::unwritten, 0, false};
}

FingerprintDomain::Operand FingerprintDomain::operand(const Byte* bytes, int width) const {
  if (is_whole(bytes, width)) return {bytes[0].value, bytes[0].plane()};
  const PlaneOf plane = plane_of(bytes, width);
  if (all_known(bytes, width))
    return {mixed(static_cast<uint64_t>(Tag::number), number_of(bytes, width)), plane};
  uint64_t hash = static_cast<uint64_t>(Tag::bytes);
  for (int i = 0; i < width; ++i) {
    const uint64_t which = static_cast<uint64_t>(bytes[i].number) << 1 | (bytes[i].is_known ? 1 : 0);
    hash = mixed(mixed(hash, bytes[i].value), which);
  }
  return {hash, plane};
}

uint64_t FingerprintDomain::fingerprint(const Byte* bytes, int width) const {
  return operand(bytes, width).hash;
}

uint64_t FingerprintDomain::of_op(const LaneOp& op) {
  if (const uint64_t code = code_of(op); last_hash_ == 0 || code != last_code_)
    last_code_ = code, last_hash_ = mixed(static_cast<uint64_t>(Tag::lane), code);
  return last_hash_;
}

void FingerprintDomain::lane(const LaneOp& op, std::array<const Byte*, 3> args, Byte* to) {
  const int from = ir::bytes(op.from), width = ir::bytes(op.type);
  const auto count = static_cast<size_t>(operands(op.op));
  std::optional<TakenOperand<Byte>> taken;
  if (count == 1) taken.emplace(op, args);
  bool is_number = true;
  for (size_t i = 0; i < count && is_number; ++i) is_number = all_known(args[i], from);
  if (is_number) {
    std::array<uint64_t, 3> numbers = {};
    for (size_t i = 0; i < count; ++i) numbers[i] = number_of(args[i], from);
    const uint64_t result = compute(op, numbers);
    for (int i = 0; i < width; ++i) to[i] = constant(static_cast<uint8_t>(result >> 8 * i));
    return;
  }
  uint64_t hash = of_op(op);
  PlaneOf plane;
  for (size_t i = 0; i < count; ++i) {
    const Operand one = operand(args[i], from);
    hash = mixed(hash, one.hash);
    plane = joined(plane, one.plane);
  }
  put(hash, plane, op.op == ir::Op::cmp, to, width);
}

void FingerprintDomain::bits(BitOp op, const Byte* a, const Byte* b, Byte* to, int count) const {
  for (int i = 0; i < count; ++i) {
    if (a[i].is_known && b[i].is_known) {
      to[i] = constant(static_cast<uint8_t>(combine(op, a[i].value, b[i].value)));
    } else if (const auto kept = kept_by(op, known(a[i]), known(b[i]))) {
      to[i] = *kept == Kept::zero   ? constant(0)
              : *kept == Kept::ones ? constant(0xff)
              : *kept == Kept::a    ? a[i]
                                    : b[i];
    } else if (op == BitOp::xor_ && a[i] == b[i]) {
      to[i] = constant(0);
    } else {
      uint64_t hash = mixed(static_cast<uint64_t>(Tag::bits), static_cast<uint64_t>(op));
      for (const Byte* byte : {a + i, b + i})
        hash = mixed(hash, fingerprint(byte, 1)), hash = mixed(hash, byte->number);
      put(hash, joined(a[i].plane(), b[i].plane()), false, to + i, 1);
    }
  }
}

void FingerprintDomain::choose(const Byte* mask, const Byte* a, const Byte* b, Byte* to, int count,
                               int width) const {
  for (int at = 0; at < count; at += width) {
    const Byte& top = mask[at + width - 1];
    if (top.is_known) {
      std::copy_n((top.value & 0x80) != 0 ? a + at : b + at, width, to + at);
    } else if (std::equal(a + at, a + at + width, b + at)) {
      std::copy_n(a + at, width, to + at);
    } else {
      const Operand chosen = operand(a + at, width), other = operand(b + at, width);
      uint64_t hash = mixed(mixed(static_cast<uint64_t>(Tag::choice), top.value), top.number);
      hash = mixed(mixed(hash, chosen.hash), other.hash);
      const PlaneOf plane = joined(top.plane(), joined(chosen.plane, other.plane));
      put(hash, plane, false, to + at, width);
    }
  }
}

}  // namespace pooljit::jit::x86
