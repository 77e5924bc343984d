// An odd divisor d has no ties, so the average of a sum s is the floor of n / m, where
//
//   unsigned: n = s + (d - 1) / 2, m = d; n is at most 255.5 d, and a quotient that is no integer is at
//             least 1/d below the next one
//   signed:   n = 2 s + d, m = 2 d; n is odd, so n / m is never an integer, and at least 1/m away from one
//
// 1 / m becomes a product by M = (2^p + e) / m and a shift by p, of which the high half of the product does
// 16. That is n / m + n e / (m 2^p), so the floor is the same if |n e| < 2^p; e is not negative where n / m
// may be an integer.
//
// By 2^k: half of it is added, less one where the quotient is even, and the sum shifted.
#include "ir/reductions/short_average.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "ir/reductions/sums.h"

namespace pooljit::ir {
namespace {

constexpr int high_half = 16;  // bits that mulh shifts by

// What a sum becomes a quotient by: (n * factor) >> (high_half + shift).
struct Reciprocal {
  int64_t factor;
  int shift;
};

std::optional<int64_t> factor_for(int64_t divisor, int shift, bool is_signed) {
  const int64_t power = int64_t{1} << (high_half + shift), modulus = is_signed ? 2 * divisor : divisor;
  const int64_t most = is_signed ? 0x7fff : 0xffff;
  const int64_t largest = is_signed ? 255 * divisor : 255 * divisor + (divisor - 1) / 2;
  const int64_t factor = (power + modulus - 1) / modulus, error = factor * modulus - power;
  if (largest > most || factor > most || largest * error >= power) return std::nullopt;
  return factor;
}

// The factors of all lanes, which are shifted alike.
std::vector<int64_t> factors_for(const std::vector<int64_t>& divisors, int shift, bool is_signed) {
  std::vector<int64_t> factors;
  for (const int64_t divisor : divisors) {
    const auto factor = divisor % 2 != 0 ? factor_for(divisor, shift, is_signed) : std::nullopt;
    if (!factor) return {};
    factors.push_back(*factor);
  }
  return factors;
}

Value by_odd(Builder& b, Value sum, const std::vector<int64_t>& divisors) {
  const Type type = b.type(sum);
  const bool is_signed = is_signed_int(type.dtype);
  for (int shift = 0; shift < 8; ++shift) {
    std::vector<int64_t> factors = factors_for(divisors, shift, is_signed);
    if (factors.empty()) continue;
    std::vector<int64_t> added = divisors;
    if (!is_signed)
      for (int64_t& each : added) each = (each - 1) / 2;
    const Value twice = is_signed ? b.binary(Op::add, sum, sum) : sum;
    const Value dividend = b.binary(Op::add, twice, b.vconst(type, std::move(added)));
    const Value high = b.binary(Op::mulh, dividend, b.vconst(type, std::move(factors)));
    return shift == 0 ? high : b.shift(Op::shr, high, shift);
  }
  return no_value;
}

Value by_power_of_two(Builder& b, Value sum, int bits) {
  const Type type = b.type(sum);
  const Value is_odd = b.binary(Op::and_, b.shift(Op::shr, sum, bits), b.vconst_splat(type, 1));
  const Value raised = b.binary(Op::add, sum, b.vconst_splat(type, (int64_t{1} << (bits - 1)) - 1));
  return b.shift(Op::shr, b.binary(Op::add, raised, is_odd), bits);
}

}  // namespace

Value short_average(const PoolNest& nest, Builder& b, Value sum, const Divisor& divisor) {
  if (nest.reduction != Reduction::avg || nest.divisor_override) return no_value;
  const std::vector<int64_t> counts = known_counts(nest, b, divisor);
  if (counts.empty()) return no_value;
  if (const Value quotient = by_odd(b, sum, counts); quotient != no_value) return quotient;
  for (int bits = 1; bits < 8; ++bits)
    if (std::all_of(counts.begin(), counts.end(), [&](int64_t count) { return count == int64_t{1} << bits; }))
      return by_power_of_two(b, sum, bits);
  return no_value;
}

}  // namespace pooljit::ir
