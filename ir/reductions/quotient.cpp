#include "ir/reductions/quotient.h"

#include <bit>
#include <limits>
#include <utility>
#include <vector>

namespace pooljit::ir {
namespace {

constexpr int64_t low_32 = 0xffffffff;

Value with(Builder& b, Op op, Value a, int64_t bits) {
  return b.binary(op, a, b.vconst_splat(b.type(a), bits));
}

struct Division {
  Value quotient, rest;
};

// What is divided by, also as a float.
struct Count {
  Value number, as_float;
};

Count count_of(Builder& b, Value number, std::span<const int64_t> counts) {
  if (counts.empty()) return {number, b.cvt(DType::f64, number)};
  std::vector<int64_t> bits;
  for (const int64_t count : counts) bits.push_back(std::bit_cast<int64_t>(static_cast<double>(count)));
  return {number, b.vconst(Type::vec(DType::f64, b.type(number).lanes), std::move(bits))};
}

// One step: the quotient of two floats, and what it leaves of the dividend. The quotient is off by a rounding
// of each operand and of itself, so a second step leaves at most half a divisor and 2^-40 of one.
Division estimate(Builder& b, Value dividend, const Count& divisor) {
  const Value a = b.cvt(DType::f64, dividend);
  const Value quotient = b.cvt(DType::i64, b.binary(Op::div, a, divisor.as_float));
  return {quotient, b.binary(Op::sub, dividend, b.binary(Op::mul, quotient, divisor.number))};
}

// The same of at most 51 bits by at most 31: floats hold the dividend and what is left of it. Integers are
// the low bits of floats beside 1.5 * 2^52.
Division estimate_short(Builder& b, Value dividend, const Count& divisor) {
  const Type floats = Type::vec(DType::f64, b.type(dividend).lanes), integers = b.type(dividend);
  const int64_t bits = std::bit_cast<int64_t>(1.5 * 0x1p52);
  const Value beside = b.vconst_splat(floats, bits), beside_bits = b.vconst_splat(integers, bits);
  const auto integer = [&](Value moved) {
    return b.binary(Op::sub, b.bitcast(integers, moved), beside_bits);
  };
  const Value moved = b.bitcast(floats, b.binary(Op::add, dividend, beside_bits));
  const Value a = b.binary(Op::sub, moved, beside);
  const Value quotient = b.binary(Op::add, b.binary(Op::div, a, divisor.as_float), beside);
  const Value back = b.binary(Op::sub, beside, quotient);
  return {integer(quotient), integer(b.binary(Op::add, b.fma(back, divisor.as_float, a), beside))};
}

// To the nearest integer. outward: 1 or -1, in which direction ties go; no_value: to the even one.
Division divide(Builder& b, Value dividend, const Count& by, Value outward,
                Division (*second_step)(Builder&, Value, const Count&)) {
  const Division first = estimate(b, dividend, by), second = second_step(b, first.rest, by);
  const Value divisor = by.number;
  const Value quotient = b.binary(Op::add, first.quotient, second.quotient);
  const Type type = b.type(quotient);
  const Value zero = b.vconst_splat(type, 0), one = b.vconst_splat(type, 1);
  const Value is_above = b.cmp(Predicate::gt, second.rest, zero);
  const Value size = b.select(is_above, second.rest, b.binary(Op::sub, zero, second.rest));
  const Value twice = b.binary(Op::add, size, size);
  const auto towards = [&] { return b.select(is_above, one, b.vconst_splat(type, -1)); };
  const auto divisor_towards = [&] { return b.select(is_above, divisor, b.binary(Op::sub, zero, divisor)); };
  const Value is_raised = outward == no_value ? b.cmp(Predicate::eq, with(b, Op::and_, quotient, 1), one)
                                              : b.cmp(Predicate::eq, towards(), outward);
  const Value is_raised_tie = b.binary(Op::and_, b.cmp(Predicate::eq, twice, divisor), is_raised);
  const Value is_beyond = b.binary(Op::or_, b.cmp(Predicate::gt, twice, divisor), is_raised_tie);
  const Value step = b.select(is_beyond, towards(), zero);
  return {b.binary(Op::add, quotient, step),
          b.binary(Op::sub, second.rest, b.select(is_beyond, divisor_towards(), zero))};
}

// Away from zero, of what has the sign of this; no_value: ties go to even.
Value outward_of(Builder& b, Value number, RoundingRule ties) {
  if (ties == RoundingRule::half_even) return no_value;
  const Type type = b.type(number);
  const Value is_negative = b.cmp(Predicate::lt, number, b.vconst_splat(type, 0));
  return b.select(is_negative, b.vconst_splat(type, -1), b.vconst_splat(type, 1));
}

// The digits of base 2^32 of a sum whose low digit has grown, or become negative.
WideSum carried(Builder& b, const WideSum& sum) {
  return {b.binary(Op::add, sum.high, b.shift(Op::shr, sum.low, 32)), with(b, Op::and_, sum.low, low_32)};
}

}  // namespace

Value rounded_quotient(Builder& b, Value dividend, Value divisor, RoundingRule ties,
                       std::span<const int64_t> counts) {
  const Value outward = outward_of(b, dividend, ties);
  return divide(b, dividend, count_of(b, divisor, counts), outward, estimate).quotient;
}

Value rounded_quotient(Builder& b, const WideSum& dividend, Value divisor, RoundingRule ties,
                       std::span<const int64_t> counts) {
  WideSum result = carried(b, dividend);
  if (divisor != no_value) {
    const Value outward = outward_of(b, result.high, ties);
    const Count by = count_of(b, divisor, counts);
    const Division high = divide(b, result.high, by, no_value, estimate_short);
    const Value rest = b.binary(Op::add, b.shift(Op::shl, high.rest, 32), result.low);
    // The quotient of the rest has the parity of the whole.
    result = carried(b, {high.quotient, divide(b, rest, by, outward, estimate_short).quotient});
  }
  const Type type = b.type(result.high);
  const Value joined = b.binary(Op::or_, b.shift(Op::shl, result.high, 32), result.low);
  const auto limit = [&](int64_t value) { return b.vconst_splat(type, value); };
  const Value is_high = b.cmp(Predicate::gt, result.high, limit(std::numeric_limits<int32_t>::max()));
  const Value is_low = b.cmp(Predicate::lt, result.high, limit(std::numeric_limits<int32_t>::min()));
  const Value not_below = b.select(is_low, limit(std::numeric_limits<int64_t>::min()), joined);
  return b.select(is_high, limit(std::numeric_limits<int64_t>::max()), not_below);
}

}  // namespace pooljit::ir
