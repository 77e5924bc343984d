// Integer arithmetic, shifts and comparisons that x86 lacks for some lane widths.
#include "ir/check.h"
#include "ir/passes/expand.h"
#include "ir/passes/legal.h"
#include "ir/passes/shuffle_cut.h"

namespace pooljit::ir {
namespace {

Value mul_bytes(Builder& b, Value x, Value y) {
  const Type type = b.type(x);
  if (2 * type.vector_bytes() > info(b.isa()).vector_bytes) {
    const Value lower_x = lower_half(b, x), lower_y = lower_half(b, y);
    const Value lower = mul_bytes(b, lower_x, lower_y);
    const Value upper_x = upper_half(b, x), upper_y = upper_half(b, y);
    return concat(b, lower, mul_bytes(b, upper_x, upper_y));
  }
  const Value wide_x = expand_convert(b, DType::i16, x, false),
              wide_y = expand_convert(b, DType::i16, y, false);
  return expand_convert(b, type.dtype, b.binary(Op::mul, wide_x, wide_y), false);
}

// x_low * y_low + ((x_high * y_low + x_low * y_high) << 32), of digits of 32 bits.
Value mul_qwords(Builder& b, Value x, Value y) {
  const Type type = b.type(x);
  const Value p = as(b, DType::u64, x), q = as(b, DType::u64, y);
  const auto product = [&](Value left, Value right) {
    return b.bitcast(type, b.binary(Op::mull, left, right));
  };
  const Value high_p = b.shift(Op::shr, p, 32), high_q = b.shift(Op::shr, q, 32);
  const Value high_low = product(high_p, q), low_high = product(p, high_q), low = product(p, q);
  const Value crossed = b.binary(Op::add, high_low, low_high);
  return b.binary(Op::add, low, b.shift(Op::shl, crossed, 32));
}

// (x >> bits) of lanes that only shift as wider ones: what came from the neighbour is cut off.
Value shift_bytes(Builder& b, Op op, Value a, int64_t bits) {
  const Type type = b.type(a);
  if (type.lanes == 1) return lower_half(b, shift_bytes(b, op, concat(b, a, a), bits));
  const Value moved = b.shift(op, b.bitcast(Type::vec(DType::u16, type.lanes / 2), a), bits);
  const int64_t kept = op == Op::shl ? 0xff << bits & 0xff : 0xff >> bits;
  const Value bytes_moved = b.bitcast(type, moved);
  return b.binary(Op::and_, bytes_moved, constant_like(b, a, kept));
}

// Arithmetic from logical, of a number that is moved above zero: ((x + lowest) >> bits) - sign.
Value shift_signed(Builder& b, Value a, int64_t bits) {
  const Type type = b.type(a);
  const int width = info(type.dtype).bits;
  const auto power = [&](int64_t exponent) {
    return constant_like(b, a, static_cast<int64_t>(uint64_t{1} << exponent));
  };
  const Value above = as(b, unsigned_of(type.dtype), b.binary(Op::add, a, power(width - 1)));
  return b.binary(Op::sub, b.bitcast(type, expand_shift(b, Op::shr, above, bits)), power(width - 1 - bits));
}

// Comparisons of integers from `eq` of any and `gt` of signed ones.
Value compare_ints(Builder& b, Predicate pred, Value x, Value y) {
  const Type type = b.type(x);
  const DType as_signed = signed_of(type.dtype);
  const auto or_mask = [&](Value p, Value q) { return b.binary(Op::or_, p, q); };
  switch (pred) {
    case Predicate::un:
      return b.vmask(type.mask_of(), std::vector<int64_t>(static_cast<size_t>(type.lanes), 0));
    case Predicate::lt:
      return expand_compare(b, Predicate::gt, y, x);
    case Predicate::le:
      return expand_compare(b, Predicate::ge, y, x);
    case Predicate::ge:
      if (has_op(b.isa(), Op::max, type.dtype)) return b.cmp(Predicate::eq, b.binary(Op::max, x, y), x);
      {
        const Value above = expand_compare(b, Predicate::gt, x, y), equal = b.cmp(Predicate::eq, x, y);
        return or_mask(above, equal);
      }
    case Predicate::ne: {
      const Value p = as(b, as_signed, x), q = as(b, as_signed, y);
      const Value above = b.cmp(Predicate::gt, p, q), below = b.cmp(Predicate::gt, q, p);
      return or_mask(above, below);
    }
    default: {  // gt of unsigned lanes: biased, they compare as signed ones
      const Value bias = constant_like(b, x, int64_t{1} << (info(type.dtype).bits - 1));
      const Value p = as(b, as_signed, b.binary(Op::sub, x, bias));
      const Value q = as(b, as_signed, b.binary(Op::sub, y, bias));
      return b.cmp(Predicate::gt, p, q);
    }
  }
}

}  // namespace

Value expand_binary(Builder& b, Op op, Value x, Value y) {
  const Type type = b.type(x);
  if (type.kind == Type::Kind::mask || has_op(b.isa(), op, type.dtype)) return b.binary(op, x, y);
  if (op == Op::mul) return bytes(type.dtype) == 1 ? mul_bytes(b, x, y) : mul_qwords(b, x, y);
  if (op == Op::propagate) return b.select(expand_compare(b, Predicate::un, x, x), x, y);
  POOLJIT_CHECK(op == Op::min || op == Op::max, info(op).text);
  const Predicate pred = op == Op::min ? Predicate::lt : Predicate::gt;
  return b.select(expand_compare(b, pred, x, y), x, y);
}

Value expand_shift(Builder& b, Op op, Value a, int64_t bits) {
  const DType dtype = b.type(a).dtype;
  if (bits == 0) return a;
  if (has_op(b.isa(), op, dtype)) return b.shift(op, a, bits);
  if (op == Op::shr && is_signed_int(dtype)) return shift_signed(b, a, bits);
  return shift_bytes(b, op, a, bits);
}

Value expand_compare(Builder& b, Predicate pred, Value x, Value y) {
  if (has_compare(b.isa(), pred, b.type(x).dtype)) return b.cmp(pred, x, y);
  return compare_ints(b, pred, x, y);
}

}  // namespace pooljit::ir
