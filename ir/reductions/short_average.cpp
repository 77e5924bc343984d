// An odd divisor d has no ties, so the average of a sum s is the floor of n / m, where
//
//   unsigned: n = s + (d - 1) / 2, m = d
//   signed:   n = 2 s + d, m = 2 d; n is odd, so that n / m is no integer, and at least 1/m away from one
//
// 1 / m becomes a product by M = (2^p + e) / m and a shift by p, of which the high half of the product does
// 16. That is n / m + n e / (m 2^p). Signed, the floor is the same if |n e| < 2^p. Unsigned, n / m may be an
// integer, and is at least 1/m below the next one: the floor is the same if 0 <= n e < 2^p; where e is
// negative, if n is one larger and -n e <= 2^p.
//
// By 2^k: half of it is added, less one where the quotient is even, and the sum shifted.
#include "ir/reductions/short_average.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "ir/reductions/sums.h"

namespace pooljit::ir {
namespace {

constexpr int high_half = 16;  // bits that mulh shifts by
constexpr int most_shift = 8;  // and what is shifted further, less one

// What a sum becomes a quotient by: ((sum or twice the sum) + added) * factor >> (high_half + shift).
struct Reciprocal {
  int64_t added, factor;
};

std::optional<Reciprocal> reciprocal(int64_t divisor, int shift, bool is_signed) {
  const int64_t power = int64_t{1} << (high_half + shift), modulus = is_signed ? 2 * divisor : divisor;
  const int64_t most = is_signed ? 0x7fff : 0xffff;
  for (const int64_t factor : {(power + modulus - 1) / modulus, power / modulus}) {
    const int64_t error = factor * modulus - power;
    const int64_t added = is_signed ? divisor : (divisor - 1) / 2 + (error < 0 ? 1 : 0);
    const int64_t largest = is_signed ? 255 * divisor : 255 * divisor + added;
    const bool is_exact =
        error >= 0 ? largest * error < power : -largest * error <= power - (is_signed ? 1 : 0);
    if (largest <= most && factor <= most && is_exact) return Reciprocal{added, factor};
  }
  return std::nullopt;
}

// no_value: not all are odd, or have no factor that fits. All lanes are shifted alike.
Value by_odd(Builder& b, Value sum, const std::vector<int64_t>& divisors) {
  const Type type = b.type(sum);
  const bool is_signed = is_signed_int(type.dtype);
  for (int shift = 0; shift < most_shift; ++shift) {
    std::vector<int64_t> added, factors;
    for (const int64_t divisor : divisors) {
      const auto found = divisor % 2 != 0 ? reciprocal(divisor, shift, is_signed) : std::nullopt;
      if (!found) break;
      added.push_back(found->added);
      factors.push_back(found->factor);
    }
    if (factors.size() < divisors.size()) continue;
    const Value whole = is_signed ? b.binary(Op::add, sum, sum) : sum;
    const Value dividend = b.binary(Op::add, whole, b.vconst(type, std::move(added)));
    const Value high = b.binary(Op::mulh, dividend, b.vconst(type, std::move(factors)));
    return shift == 0 ? high : b.shift(Op::shr, high, shift);
  }
  return no_value;
}

// What a shift divides by.
bool is_shifted(int64_t divisor) {
  return divisor > 1 && divisor < 256 && std::has_single_bit(static_cast<uint64_t>(divisor));
}

Value by_power_of_two(Builder& b, Value sum, int bits) {
  const Type type = b.type(sum);
  const Value is_odd = b.binary(Op::and_, b.shift(Op::shr, sum, bits), b.vconst_splat(type, 1));
  const Value raised = b.binary(Op::add, sum, b.vconst_splat(type, (int64_t{1} << (bits - 1)) - 1));
  return b.shift(Op::shr, b.binary(Op::add, raised, is_odd), bits);
}

}  // namespace

bool divides_in_short_lanes(const PoolNest& nest, int64_t taps) {
  if (nest.reduction != Reduction::avg || nest.divisor_override) return false;
  if (taps % 2 == 0) return is_shifted(taps);
  for (int shift = 0; shift < most_shift; ++shift)
    if (reciprocal(taps, shift, is_signed_int(nest.input.dtype))) return true;
  return false;
}

Value short_average(const PoolNest& nest, Builder& b, Value sum, const Divisor& divisor) {
  if (nest.reduction != Reduction::avg || nest.divisor_override) return no_value;
  const std::vector<int64_t> counts = known_counts(nest, b, divisor);
  if (counts.empty()) return no_value;
  if (const Value quotient = by_odd(b, sum, counts); quotient != no_value) return quotient;
  const bool are_alike = std::ranges::count(counts, counts[0]) == std::ssize(counts);
  if (are_alike && is_shifted(counts[0]))
    return by_power_of_two(b, sum, std::countr_zero(static_cast<uint64_t>(counts[0])));
  return no_value;
}

}  // namespace pooljit::ir
