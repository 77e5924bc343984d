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

// The divisor, also as a float.
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

// Of less than 2^51 by at most 2^31: floats hold the dividend and what is left of it. Integers are the low
// bits of floats beside 1.5 * 2^52. The float quotient is on the same side of each tie as the exact one, and
// a tie only if that is one (ir/reductions/avg.cpp), so it becomes the nearest integer, of two the even one.
class FloatQuotient {
 public:
  FloatQuotient(Builder& b, Value dividend, const Count& divisor)
      : b_(b),
        divisor_(divisor.as_float),
        integers_(b.type(dividend)),
        beside_bits_(b.vconst_splat(integers_, bits)),
        beside_(b.vconst_splat(b.type(divisor_), bits)),
        dividend_(b.binary(Op::sub, b.bitcast(b.type(divisor_), b.binary(Op::add, dividend, beside_bits_)),
                           beside_)),
        quotient_(b.binary(Op::add, b.binary(Op::div, dividend_, divisor_), beside_)) {}

  Value quotient() { return integer(quotient_); }

  Value rest() {
    const Value negative = b_.binary(Op::sub, beside_, quotient_);
    return integer(b_.binary(Op::add, b_.fma(negative, divisor_, dividend_), beside_));
  }

 private:
  static constexpr int64_t bits = std::bit_cast<int64_t>(1.5 * 0x1p52);

  Value integer(Value moved) { return b_.binary(Op::sub, b_.bitcast(integers_, moved), beside_bits_); }

  Builder& b_;
  const Value divisor_;
  const Type integers_;
  const Value beside_bits_, beside_, dividend_, quotient_;
};

Division estimate_short(Builder& b, Value dividend, const Count& divisor) {
  FloatQuotient division(b, dividend, divisor);
  const Value quotient = division.quotient();
  return {quotient, division.rest()};
}

using Step = Division (*)(Builder&, Value, const Count&);

// Two steps: what the first leaves is divided by the second.
Division divide_twice(Builder& b, Value dividend, const Count& by, Step second_step) {
  const Division first = estimate(b, dividend, by), second = second_step(b, first.rest, by);
  return {b.binary(Op::add, first.quotient, second.quotient), second.rest};
}

Division by_estimates(Builder& b, Value dividend, const Count& by) {
  return divide_twice(b, dividend, by, estimate);
}

Division by_short_estimate(Builder& b, Value dividend, const Count& by) {
  return divide_twice(b, dividend, by, estimate_short);
}

// To the nearest integer, from a quotient that `nearly` leaves less than a divisor of. outward: 1 or -1, in
// which direction ties go; no_value: to the even one.
Division divide(Builder& b, Value dividend, const Count& by, Value outward, Step nearly) {
  const auto [quotient, rest] = nearly(b, dividend, by);
  const Value divisor = by.number;
  const Type type = b.type(quotient);
  const Value zero = b.vconst_splat(type, 0), one = b.vconst_splat(type, 1);
  const Value is_above = b.cmp(Predicate::gt, rest, zero);
  const Value size = b.select(is_above, rest, b.binary(Op::sub, zero, rest));
  const Value twice = b.binary(Op::add, size, size);
  const auto towards = [&] { return b.select(is_above, one, b.vconst_splat(type, -1)); };
  const auto divisor_towards = [&] { return b.select(is_above, divisor, b.binary(Op::sub, zero, divisor)); };
  const Value is_raised = outward == no_value ? b.cmp(Predicate::eq, with(b, Op::and_, quotient, 1), one)
                                              : b.cmp(Predicate::eq, towards(), outward);
  const Value is_raised_tie = b.binary(Op::and_, b.cmp(Predicate::eq, twice, divisor), is_raised);
  const Value is_beyond = b.binary(Op::or_, b.cmp(Predicate::gt, twice, divisor), is_raised_tie);
  const Value step = b.select(is_beyond, towards(), zero);
  return {b.binary(Op::add, quotient, step),
          b.binary(Op::sub, rest, b.select(is_beyond, divisor_towards(), zero))};
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
  return divide(b, dividend, count_of(b, divisor, counts), outward, by_estimates).quotient;
}

Value rounded_quotient(Builder& b, const WideSum& dividend, Value divisor, RoundingRule ties,
                       std::span<const int64_t> counts, SumSize size) {
  WideSum result = carried(b, dividend);
  if (divisor != no_value) {
    const Value outward = outward_of(b, result.high, ties);
    const Count by = count_of(b, divisor, counts);
    const bool is_small = size == SumSize::small;
    const Division high = is_small ? estimate_short(b, result.high, by)
                                   : divide(b, result.high, by, no_value, by_short_estimate);
    // Of a small sum half of 2^19 and a digit; its quotient has the parity of the whole.
    const Value rest = b.binary(Op::add, b.shift(Op::shl, high.rest, 32), result.low);
    const auto low_digit = [&] {
      if (!is_small) return divide(b, rest, by, outward, by_short_estimate).quotient;
      if (outward == no_value) return FloatQuotient(b, rest, by).quotient();
      return divide(b, rest, by, outward, estimate_short).quotient;
    };
    result = carried(b, {high.quotient, low_digit()});
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
