// Conversions that x86 lacks, from those that it has and integer arithmetic on the bits of floats. Each is
// rounded at most once.
#include <bit>

#include "ir/check.h"
#include "ir/passes/expand.h"
#include "ir/passes/legal.h"
#include "ir/passes/shuffle_cut.h"

namespace pooljit::ir {
namespace {

constexpr double two_32 = 4294967296.0;
constexpr double two_52 = 4503599627370496.0;
constexpr double two_67 = 32768.0 * two_52;

constexpr int64_t bits_of(double value) { return std::bit_cast<int64_t>(value); }

Value with(Builder& b, Op op, Value a, int64_t bits) { return b.binary(op, a, constant_like(b, a, bits)); }

// ------------------------------------------------------------------------------------- integer to integer
struct Range {  // the highest of an unsigned 64-bit type is -1
  int64_t low, high;
};
Range range(DType dtype) {
  const int width = info(dtype).bits;
  if (!is_signed_int(dtype)) return {0, low_bits(width)};
  return {-low_bits(width - 1) - 1, low_bits(width - 1)};
}

// Clamps to what `to` holds, in lanes of the source's type.
Value clamp(Builder& b, DType to, Value a) {
  const DType from = b.type(a).dtype;
  const Range have = range(from), want = range(to);
  if (want.low > have.low) a = expand_binary(b, Op::max, a, constant_like(b, a, want.low));
  const bool narrower = static_cast<uint64_t>(want.high) < static_cast<uint64_t>(have.high);
  return narrower ? expand_binary(b, Op::min, a, constant_like(b, a, want.high)) : a;
}

// The low part of each lane.
Value truncate(Builder& b, DType to, Value a) {
  const Type type = b.type(a);
  const int parts = bytes(type.dtype) / bytes(to);
  LaneList first;
  for (int lane = 0; lane < type.lanes; ++lane) first.push_back(int64_t{lane} * parts);
  return cut_shuffle(b, b.bitcast(Type::vec(to, type.lanes * parts), a), no_value, first);
}

Value between_ints(Builder& b, DType to, Value a, bool saturate) {
  const DType from = b.type(a).dtype;
  if (saturate) {
    if (has_convert(b.isa(), from, to, true)) return b.cvt(to, a, true);
    const DType not_negative = unsigned_of(from);
    if (is_signed_int(from) && has_convert(b.isa(), not_negative, to, true))
      return b.cvt(to, as(b, not_negative, with(b, Op::max, a, 0)), true);
    a = clamp(b, to, a);
  }
  if (has_convert(b.isa(), from, to, false)) return b.cvt(to, a);
  return truncate(b, to, a);
}

// --------------------------------------------------------------------------------------- integer and float
// By parts, each in the mantissa of a large power of two: the low 48 bits on 2^52, the high ones where they
// count in 3 * 2^67. The sum of both is the only rounding.
Value i64_to_f64(Builder& b, Value a) {
  const Type type = b.type(a);
  const Type halves = Type::vec(DType::i32, 2 * type.lanes);
  const Value low = with(b, Op::or_, with(b, Op::and_, a, low_bits(48)), bits_of(two_52));
  const Value moved = b.bitcast(type, b.shift(Op::shr, b.bitcast(halves, a), 16));
  const Value high = with(b, Op::add, with(b, Op::and_, moved, ~low_bits(32)), bits_of(3 * two_67));
  const Value high_part = with(b, Op::sub, as(b, DType::f64, high), bits_of(3 * two_67 + two_52));
  return b.binary(Op::add, high_part, as(b, DType::f64, low));
}

// Through f64, whose rounding must not show: beyond 2^53, low bits that f32 cannot see become one sticky bit.
Value i64_to_f32(Builder& b, Value a) {
  const Value sum = with(b, Op::add, with(b, Op::and_, a, 0x7ff), 0x7ff);
  const Value sticky = with(b, Op::and_, b.binary(Op::or_, a, sum), ~int64_t{0x7ff});
  const Value magnitude = as(b, DType::u64, with(b, Op::add, a, int64_t{1} << 53));
  const Value small =
      expand_compare(b, Predicate::lt, magnitude, constant_like(b, magnitude, int64_t{1} << 54));
  return b.cvt(DType::f32, i64_to_f64(b, b.select(small, a, sticky)));
}

// The nearest integer, as an integer: 1.5 * 2^52 leaves no room for a fraction.
Value small_f64_to_i64(Builder& b, Value a) {
  const int64_t magic = bits_of(1.5 * two_52);
  return with(b, Op::sub, as(b, DType::i64, with(b, Op::add, a, magic)), magic);
}

// By digits of 32 bits; the high one is even where it counts, so the low one's ties are the number's.
Value f64_to_i64(Builder& b, Value a) {
  const int64_t magic = bits_of(1.5 * two_52);
  const Value high = with(b, Op::mul, a, bits_of(1 / two_32));
  const Value rounded = with(b, Op::sub, with(b, Op::add, high, magic), magic);
  const Value low = b.binary(Op::sub, a, with(b, Op::mul, rounded, bits_of(two_32)));
  const Value high_bits = b.shift(Op::shl, small_f64_to_i64(b, rounded), 32);
  return b.binary(Op::add, high_bits, small_f64_to_i64(b, low));
}

// ------------------------------------------------------------------------------------------------ bfloat16
Value bf16_to_f32(Builder& b, Value a) {
  const Value bits = expand_convert(b, DType::u32, as(b, DType::u16, a), false);
  return as(b, DType::f32, b.shift(Op::shl, bits, 16));
}

}  // namespace

// To nearest, ties to even: half of the last place kept is added, less one where that place is even.
// (vcvtneps2bf16 takes denormals for zeros.)
Value expand_bf16_bits(Builder& b, Value a) {
  const Value bits = as(b, DType::u32, a);
  const Value high = b.shift(Op::shr, bits, 16);
  const Value rounder = with(b, Op::add, with(b, Op::and_, high, 1), 0x7fff);
  const Value rounded = b.shift(Op::shr, b.binary(Op::add, bits, rounder), 16);
  const Value quiet = with(b, Op::or_, high, 0x40);
  return b.select(b.cmp(Predicate::un, a, a), quiet, rounded);
}

Value expand_narrow_bits(Builder& b, DType to, Value a, bool saturate) {
  const Value number = as(b, DType::u32, saturate ? clamp(b, to, a) : a);
  const bool fits = saturate && !is_signed_int(to);
  return fits ? number : with(b, Op::and_, number, low_bits(info(to).bits));
}

Value expand_convert(Builder& b, DType to, Value a, bool saturate) {
  const DType from = b.type(a).dtype;
  if (!is_float(from) && !is_float(to)) return between_ints(b, to, a, saturate);
  if (has_convert(b.isa(), from, to, saturate)) return b.cvt(to, a);
  if (from == DType::bf16) return bf16_to_f32(b, a);
  if (from == DType::i64) return to == DType::f64 ? i64_to_f64(b, a) : i64_to_f32(b, a);
  POOLJIT_CHECK(is_float(from) && to == DType::i64, info(to).text);
  return f64_to_i64(b, from == DType::f32 ? b.cvt(DType::f64, a) : a);
}

}  // namespace pooljit::ir
