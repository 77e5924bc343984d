// x^p = 2^(p log2 x). The logarithm is e + l, where x = 2^e m and m lies around 1; l is the series of atanh
// in s = (m - 1) / (m + 1). p log2 x is kept in two floats, so that its integer part costs the fraction no
// digits. The remaining error: |s| < 0.1716, so 12 terms leave less than 2^-57 of l, and s and the sum
// round l, which is at most 1/2, by 3 * 2^-53 of it; p times that; then |f| <= 1/2, so 14 terms of the
// exponential series leave less than 2^-57, and Horner's rule and the rest round by 2^-51.
#include "ir/reductions/power.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ir/check.h"
#include "ir/reductions/stored.h"

namespace pooljit::ir {
namespace {

constexpr int mantissa_bits = 52, exponent_bias = 1023;
constexpr double two_52 = 0x1p52;
// Added, it leaves a float's integer part in the low bits, to nearest even.
constexpr double rounder = 0x1.8p52;
// Beyond it, 2^x is infinite or 0.
constexpr double largest_exponent = 1100;
constexpr int log_terms = 12, exp_terms = 14;

// Two floats whose sum is more precise than either: values, or a constant.
struct Pair {
  Value high, low;
};
struct Factor {
  double high, low;
};

class Power {
 public:
  Power(Builder& builder, Type type) : b_(builder), type_(type), bits_(Type::vec(DType::u64, type.lanes)) {}

  Value power(Value x, Factor exponent) {
    const Value result = exponential(times(logarithm(x), exponent));
    const Value is_infinite = b_.cmp(Predicate::eq, x, constant(std::numeric_limits<double>::infinity()));
    const Value is_special = b_.binary(Op::or_, is_infinite, b_.cmp(Predicate::un, x, x));
    const Value stays = b_.binary(Op::or_, is_special, b_.cmp(Predicate::eq, x, constant(0)));
    return b_.select(stays, x, result);
  }

 private:
  Value constant(double value) { return b_.vconst_splat(type_, float_bits(DType::f64, value)); }
  Value whole(int64_t value) { return b_.vconst_splat(bits_, value); }
  Value add(Value a, Value b) { return b_.binary(Op::add, a, b); }
  Value sub(Value a, Value b) { return b_.binary(Op::sub, a, b); }
  Value mul(Value a, Value b) { return b_.binary(Op::mul, a, b); }

  // c(0) + x (c(1) + x (c(2) + ...)).
  template <typename Coefficient>
  Value horner(Value x, int terms, const Coefficient& coefficient) {
    Value sum = constant(coefficient(terms - 1));
    for (int i = terms - 1; i-- > 0;) sum = b_.fma(sum, x, constant(coefficient(i)));
    return sum;
  }

  // To base 2, of a positive finite number; something finite for any other.
  Pair logarithm(Value x) {
    const Value is_small = b_.cmp(Predicate::lt, x, constant(0x1p-1022));
    const Value normal = b_.select(is_small, mul(x, constant(0x1p54)), x);
    // The exponent changes where the mantissa passes the square root of 2.
    const auto least = std::bit_cast<int64_t>(std::sqrt(0.5)), one = std::bit_cast<int64_t>(1.0);
    const Value normal_bits = b_.bitcast(bits_, normal);
    const Value moved = add(normal_bits, whole(one - least));
    const Value fraction = b_.binary(Op::and_, moved, whole((int64_t{1} << mantissa_bits) - 1));
    const Value m = b_.bitcast(type_, add(fraction, whole(least)));
    const Value exponent = b_.shift(Op::shr, moved, mantissa_bits);
    const Value biased = b_.binary(Op::or_, exponent, whole(std::bit_cast<int64_t>(two_52)));
    const Value small_bias = constant(two_52 + exponent_bias + 54),
                usual_bias = constant(two_52 + exponent_bias);
    const Value bias = b_.select(is_small, small_bias, usual_bias);
    const Value e = sub(b_.bitcast(type_, biased), bias);
    const Value unit = constant(1), above = sub(m, unit), around = add(m, unit);
    const Value s = b_.binary(Op::div, above, around);
    const Value sum = horner(mul(s, s), log_terms, [](int i) { return 2 / std::log(2.0) / (2 * i + 1); });
    const Value l = mul(s, sum), high = add(e, l);
    return {high, sub(l, sub(high, e))};
  }

  Pair times(const Pair& a, Factor factor) {
    const Value by = constant(factor.high);
    const Value high = mul(a.high, by);
    const Value rounded_off = b_.fma(a.high, by, sub(constant(0), high));
    const Value low = b_.fma(a.low, by, rounded_off);
    return {high, factor.low == 0 ? low : b_.fma(a.high, constant(factor.low), low)};
  }

  // 2^x. A result that does not fit is infinite or 0, whatever the low part says.
  Value exponential(const Pair& x) {
    const Value high = clamp(x.high, largest_exponent), low = clamp(x.low, 1);
    const Value to_whole = constant(rounder);
    const Value n = sub(add(high, to_whole), to_whole);
    const Value f = add(sub(high, n), low);
    double coefficient = 1;
    double coefficients[exp_terms];
    for (int i = 0; i < exp_terms; ++i) {
      coefficients[i] = coefficient;
      coefficient *= std::log(2.0) / (i + 1);
    }
    const Value result = horner(f, exp_terms, [&](int i) { return coefficients[i]; });
    // In two steps: 2^n alone need not be a float where the result is one.
    const Value half_in_bits = add(mul(n, constant(0.5)), to_whole);
    const Value rest_in_bits = add(sub(n, sub(half_in_bits, to_whole)), to_whole);
    const Value scaled = mul(result, power_of_two(half_in_bits));
    return mul(scaled, power_of_two(rest_in_bits));
  }

  Value clamp(Value x, double most) {
    const Value not_below = b_.binary(Op::max, x, constant(-most));
    return b_.binary(Op::min, not_below, constant(most));
  }

  // 2^i, where i stands in the low bits.
  Value power_of_two(Value in_bits) {
    const Value exponent = b_.bitcast(bits_, in_bits);
    const Value biased = add(exponent, whole(exponent_bias));
    return b_.bitcast(type_, b_.shift(Op::shl, biased, mantissa_bits));
  }

  Builder& b_;
  const Type type_, bits_;
};

}  // namespace

Value power(Builder& b, Value x, double exponent) { return Power(b, b.type(x)).power(x, {exponent, 0}); }

Value root(Builder& b, Value x, double degree) {
  const double high = 1 / degree;
  return Power(b, b.type(x)).power(x, {high, std::fma(-high, degree, 1.0) / degree});
}

Value whole_power(Builder& b, Value x, int64_t exponent) {
  POOLJIT_CHECK(exponent > 0, "an exponent of at least 1");
  Value result = no_value;
  for (Value square = x;; square = b.binary(Op::mul, square, square)) {
    if (exponent % 2 == 1) result = result == no_value ? square : b.binary(Op::mul, result, square);
    if ((exponent /= 2) == 0) return result;
  }
}

bool is_whole_power(double exponent) {
  constexpr double most = 16;
  return exponent == std::floor(exponent) && exponent <= most;
}

Value any_power(Builder& b, Value x, double exponent) {
  return is_whole_power(exponent) ? whole_power(b, x, static_cast<int64_t>(exponent)) : power(b, x, exponent);
}

int64_t power_length(double exponent) {
  constexpr double most_for_one = 4;  // up to six multiplications are needed
  if (!is_whole_power(exponent)) return long_power_length;
  return exponent > most_for_one ? 2 : 1;
}

}  // namespace pooljit::ir
