// The nearest integer to s / d is a floor, and for odd d, which have no ties, one of s alone:
//
//   odd d:  floor((s + (d - 1) / 2) / d)
//   even d: floor((s + d / 2 - 1 + (floor(s / d) & 1)) / d): a tie is raised where what lies below is odd;
//           floor((s + d / 2 - (s < 0 ? 1 : 0)) / d): a tie goes away from zero
//
// floor(n / d) of 0 <= n becomes a product by M = (2^p + e) / d and a shift by p, of which the high half of
// the product does 16. That is n / d + n e / (d 2^p), and n / d is at least 1/d below the next integer: the
// floor is the same if 0 <= n e < 2^p; where e is negative, if n is one larger and -n e <= 2^p. Sums with a
// sign have 256 d added: the quotient is 256 larger, and its low byte the same.
//
// By 2^k: half of it is added, less one where the tie is not raised, and the sum shifted.
#include "ir/reductions/short_average.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "ir/reductions/sums.h"

namespace pooljit::ir {
namespace {

constexpr int high_half = 16;  // bits that mulh shifts by
constexpr int most_shift = 8;  // and what is shifted further, less one

// Added to sums with a sign, in divisors. With it they are at most 127 divisors, without one 255.
constexpr int64_t bias = 256;

// floor(n / d) is (n + added) * factor >> (high_half + shift), but for the bias.
struct Reciprocal {
  int64_t added, factor;
};

std::optional<Reciprocal> reciprocal(int64_t divisor, int shift, bool is_signed) {
  const int64_t power = int64_t{1} << (high_half + shift);
  const int64_t most = (is_signed ? bias + 127 : 255) * divisor + divisor / 2;
  const int64_t above = (power + divisor - 1) / divisor;
  for (const int64_t factor : {above, above - 1}) {
    const int64_t error = factor * divisor - power, added = error < 0 ? 1 : 0;
    const bool is_exact = error < 0 ? (most + 1) * -error <= power : most * error < power;
    if (most + added <= 0xffff && factor <= 0xffff && is_exact)
      return Reciprocal{added + (is_signed ? bias * divisor : 0), factor};
  }
  return std::nullopt;
}

// A division of each lane by its own number. All lanes are shifted alike.
struct Reciprocals {
  int shift;
  std::vector<int64_t> added, factors;
};

std::optional<Reciprocals> reciprocals(const std::vector<int64_t>& divisors, bool is_signed) {
  for (int shift = 0; shift < most_shift; ++shift) {
    Reciprocals all{shift, {}, {}};
    for (const int64_t divisor : divisors) {
      const auto found = reciprocal(divisor, shift, is_signed);
      if (!found) break;
      all.added.push_back(found->added);
      all.factors.push_back(found->factor);
    }
    if (all.factors.size() == divisors.size()) return all;
  }
  return std::nullopt;
}

// -1 where the sum is negative, else 0, in lanes of the type.
Value sign_of(Builder& b, Value sum, Type type) {
  return b.bitcast(type, b.shift(Op::shr, b.bitcast(Type::vec(DType::i16, type.lanes), sum), 15));
}

class ShortDivision {
 public:
  ShortDivision(Builder& builder, Type type, const std::vector<int64_t>& divisors, Reciprocals by)
      : b_(builder), type_(type), divisors_(divisors), by_(std::move(by)) {}

  Value to_even(Value sum) const {
    const Value raised = has_even() ? b_.binary(Op::add, sum, oddness_below_ties(sum)) : sum;
    return floor(raised, [](int64_t divisor) { return (divisor - 1) / 2; });
  }

  Value away(Value sum, bool has_sign) const {
    const bool is_lowered = has_sign && has_even();
    return floor(is_lowered ? b_.binary(Op::add, sum, sign_at_ties(sum)) : sum,
                 [](int64_t divisor) { return divisor / 2; });
  }

 private:
  bool has_even() const {
    return std::ranges::any_of(divisors_, [](int64_t divisor) { return divisor % 2 == 0; });
  }

  // The number's bits of this mask where the divisor is even.
  Value where_even(Value number, int64_t mask) const {
    std::vector<int64_t> lanes;
    for (const int64_t divisor : divisors_) lanes.push_back(divisor % 2 == 0 ? mask : 0);
    return b_.binary(Op::and_, number, b_.vconst(type_, std::move(lanes)));
  }

  // 1 where the divisor is even and the quotient's floor is odd.
  Value oddness_below_ties(Value sum) const {
    return where_even(floor(sum, [](int64_t) { return 0; }), 1);
  }

  // -1 where the divisor is even and the sum negative.
  Value sign_at_ties(Value sum) const {
    const bool all_even = std::ranges::all_of(divisors_, [](int64_t divisor) { return divisor % 2 == 0; });
    const Value sign = sign_of(b_, sum, type_);
    return all_even ? sign : where_even(sign, 0xffff);
  }

  // Of the number and what is added by the divisor.
  template <typename F>
  Value floor(Value number, F added) const {
    std::vector<int64_t> all = by_.added;
    for (size_t i = 0; i < all.size(); ++i) all[i] += added(divisors_[i]);
    const bool is_moved = std::ranges::any_of(all, [](int64_t one) { return one != 0; });
    if (is_moved) number = b_.binary(Op::add, number, b_.vconst(type_, std::move(all)));
    const Value high = b_.binary(Op::mulh, number, b_.vconst(type_, std::vector(by_.factors)));
    return by_.shift == 0 ? high : b_.shift(Op::shr, high, by_.shift);
  }

  Builder& b_;
  const Type type_;
  const std::vector<int64_t>& divisors_;
  const Reciprocals by_;
};

// The divisor that a shift stands for.
bool is_shifted(int64_t divisor) {
  return divisor > 1 && divisor < 256 && std::has_single_bit(static_cast<uint64_t>(divisor));
}

Value by_power_of_two(Builder& b, Value sum, int bits, RoundingRule ties) {
  const Type type = b.type(sum);
  const int64_t half = int64_t{1} << (bits - 1);
  if (ties == RoundingRule::half_away) {
    const Value raised = b.binary(Op::add, sum, b.vconst_splat(type, half));
    const bool has_sign = is_signed_int(type.dtype);
    return b.shift(Op::shr, has_sign ? b.binary(Op::add, raised, sign_of(b, sum, type)) : raised, bits);
  }
  const Value is_odd = b.binary(Op::and_, b.shift(Op::shr, sum, bits), b.vconst_splat(type, 1));
  const Value raised = b.binary(Op::add, sum, b.vconst_splat(type, half - 1));
  return b.shift(Op::shr, b.binary(Op::add, raised, is_odd), bits);
}

}  // namespace

bool divides_in_short_lanes(const PoolNest& nest, const std::vector<int64_t>& taps) {
  if (!nest.divides_by_taps()) return false;
  return reciprocals(taps, is_signed_int(nest.input.dtype)).has_value();
}

Value short_average(const PoolNest& nest, Builder& b, Value sum, const Divisor& divisor) {
  if (!nest.divides_by_taps()) return no_value;
  const std::vector<int64_t> counts = known_counts(nest, b, divisor);
  if (counts.empty()) return no_value;
  const bool are_alike = std::ranges::count(counts, counts[0]) == std::ssize(counts);
  if (are_alike && is_shifted(counts[0]))
    return by_power_of_two(b, sum, std::countr_zero(static_cast<uint64_t>(counts[0])), nest.rounding);
  const bool has_sign = is_signed_int(b.type(sum).dtype);
  auto by = reciprocals(counts, has_sign);
  if (!by) return no_value;
  const Type type = Type::vec(DType::u16, b.type(sum).lanes);
  const ShortDivision division(b, type, counts, *std::move(by));
  const Value bits = b.bitcast(type, sum);
  return nest.rounding == RoundingRule::half_away ? division.away(bits, has_sign) : division.to_even(bits);
}

}  // namespace pooljit::ir
