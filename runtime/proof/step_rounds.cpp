#include "runtime/proof/step_rounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "ir/float_format.h"
#include "runtime/proof/agreement.h"
#include "runtime/proof/through.h"

namespace pooljit::runtime {
namespace {

// Numbers of one sign that a round may draw; the first of them: so many times as many, or 1.
constexpr int64_t ranges[] = {254, 126, 64, 16, 4};
constexpr int64_t multiples[] = {0, 1, 8};
// Units are powers of two up to this exponent, either way.
constexpr int most_unit_exponent = 16, exponent_step = 2;
// Sums of float32 up to it are exact.
constexpr int64_t most_sum = int64_t{1} << 22;
// Points of a grid of sums that the steps are tried on, where that is enough; at most.
constexpr int64_t grid_points = 1 << 15, most_points = 1 << 20;
// Few enough numbers agree that no more need be looked for.
constexpr double good_agreement = 0.125, useless_agreement = 0.9;
constexpr int64_t round_test_rounds = 64;

// A layer's sums as multiples of a unit, which lie between `least` and `most` where a window has a tap.
struct Sums {
  int64_t divisor, least, most;
};

class Search {
 public:
  explicit Search(const ir::PoolNest& nest)
      : nest_(nest),
        through_(nest),
        is_norm_(nest.is_norm()),
        power_(is_norm_ && nest.norm_type == 2 ? 2 : 1),
        divisors_(divisors(nest)) {}

  Rounds run() {
    Rounds best = {.rounds = round_test_rounds, .range = 4, .claim = Claim::tested};
    for (int size = 0; size <= most_unit_exponent; size += exponent_step)
      for (const int exponent : {size, -size})
        for (const int64_t range : ranges)
          for (const int64_t multiple : multiples)
            for (const int sign : {1, -1}) {
              if (is_norm_ && (sign < 0 || multiple != 0)) continue;
              const auto rounds = try_numbers(std::ldexp(1.0, exponent), range, multiple, sign);
              if (rounds) best = best.claim == Claim::tested ? *rounds : better(best, *rounds);
              if (is_good_) return best;
            }
    return best;
  }

 private:
  std::optional<Rounds> try_numbers(double unit, int64_t range, int64_t multiple, int sign) {
    // Of a norm, odd numbers of either sign.
    const int64_t low = is_norm_   ? 1 - 2 * range
                        : sign > 0 ? 1 + multiple * range
                                   : -range - multiple * range;
    const int64_t step = is_norm_ ? 2 : 1, count = is_norm_ ? 2 * range : range;
    const int64_t high = low + step * (count - 1);
    const int64_t zero = nest_.quantization ? nest_.quantization->zero_point : 0;
    Rounds rounds = {.least = low + zero, .range = count, .step = step, .unit = unit, .claim = Claim::any};
    if (!are_exact(rounds, std::max(std::abs(low), std::abs(high)))) return std::nullopt;
    double any = 0, right = 0, longest = 0;
    for (const int64_t divisor : divisors_) {
      const Sums sums = sums_by(divisor, low, high);
      const int64_t span = sums.most - sums.least + 1;
      if (span > most_points) return std::nullopt;
      const int64_t finer = std::clamp<int64_t>(grid_points / span, 1, 8 * (divisor + 1));
      const auto alike = longest_alike(sums, unit, finer, count);
      if (!alike) return std::nullopt;
      const auto units = double(*alike) / double(finer);
      const int64_t whole = 2 * ((*alike - 1) / finer) + 1;  // whole numbers of units that agree at most
      const double of_any = 2 * (units + 1.0 / double(finer)) * double(divisor + 1) + 1;
      longest = std::max(longest, units);
      right = std::max(right, double(whole));
      any = std::max(any, of_any);
    }
    return by_agreement(rounds, any, right, longest);
  }

  std::optional<Rounds> by_agreement(Rounds rounds, double any, double right, double longest) {
    const auto range = double(rounds.range);
    if (is_norm_) any = power_ == 2 ? 2 * right : range / 2 + right;
    if (any / range < useless_agreement) {
      is_good_ = is_norm_ ? (any - (power_ == 1 ? range / 2 : 0)) / range <= good_agreement
                          : any / range <= good_agreement;
      return with_agreement(rounds, any / range);
    }
    if (is_norm_) return std::nullopt;
    rounds.claim = Claim::right_divisor;
    if (right / range < useless_agreement) return with_agreement(rounds, right / range);
    rounds.claim = Claim::one_tap;
    return with_agreement(rounds, 1 - std::min(0.5, (range - 1) / (4 * std::max(longest, 1.0))));
  }

  // Elements are numbers of the dtype, and sums of them numbers of the accumulator.
  bool are_exact(const Rounds& rounds, int64_t largest) const {
    const ir::DType dtype = nest_.input.dtype;
    const int64_t ends[] = {rounds.least, rounds.least + rounds.step * (rounds.range - 1)};
    if (nest_.quantization && rounds.unit != 1) return false;
    for (const int64_t end : ends) {
      const double element = double(end) * rounds.unit;
      if (!ir::is_float(dtype)) {
        if (element != std::floor(element) || std::abs(element) > 0x1p31) return false;
        if (ir::lane_bits(dtype, int64_t(element)) != int64_t(element)) return false;
      } else if (number_of(dtype, bits_of(dtype, element)) != element) {
        return false;
      }
    }
    if (!ir::is_float(dtype)) return true;
    const double sum = std::pow(double(largest), power_) * double(nest_.full_taps());
    return largest < int64_t{2} << ir::mantissa_bits(dtype) && sum <= double(most_sum);
  }

  Sums sums_by(int64_t divisor, int64_t low, int64_t high) const {
    const bool counts = nest_.divides_by_taps();
    const int64_t taps = counts ? std::min(divisor, nest_.full_taps()) : nest_.full_taps();
    if (is_norm_) return {divisor, 1, taps * (power_ == 2 ? high * high : high)};
    return {divisor, low > 0 ? low : taps * low, high < 0 ? high : taps * high};
  }

  double result(double sum, double unit, int64_t divisor) const {
    if (power_ == 2) return unit * std::copysign(std::sqrt(std::abs(sum)), sum);
    if (nest_.quantization) {
      const ir::Quantization& q = *nest_.quantization;
      return sum * (q.scale / q.output_scale) / double(divisor) + double(q.output_zero_point);
    }
    const bool turns = nest_.divisor_override && *nest_.divisor_override < 0 && nest_.divides();
    return unit * sum / double(turns ? -divisor : divisor);
  }

  // The most points of a grid, `finer` to a unit, that have one output; none if right sums have one with sums
  // that lie outside of the grid, which is wider than they are, or more have than there are numbers.
  std::optional<int64_t> longest_alike(const Sums& sums, double unit, int64_t finer, int64_t count) const {
    const auto output = [&](int64_t point) {
      return through_.output(result(double(point) / double(finer), unit, sums.divisor));
    };
    const int64_t least = sums.least * finer, most = sums.most * finer;
    const int64_t margin = (most - least) / 4 + 2 * finer;
    if (output(least) == output(least - margin) || output(most) == output(most + margin)) return std::nullopt;
    int64_t longest = 1, alike = 1;
    uint64_t last = output(least - margin);
    for (int64_t point = least - margin + 1; point <= most + margin; ++point) {
      const uint64_t now = output(point);
      alike = now == last ? alike + 1 : 1;
      last = now;
      const bool is_of_right = point >= least && point - alike < most;
      if (is_of_right) longest = std::max(longest, alike);
      if (longest > finer * count) return std::nullopt;
    }
    return longest;
  }

  const ir::PoolNest& nest_;
  const Through through_;
  const bool is_norm_;
  const int power_;
  const std::set<int64_t> divisors_;
  bool is_good_ = false;
};

}  // namespace

int64_t norms_told(const ir::PoolNest& nest, double unit) {
  const Through through(nest);
  std::set<uint64_t> outputs;
  for (const double norm : {0.0, unit, 2 * unit, 3 * unit, std::numeric_limits<double>::infinity()})
    outputs.insert(through.output(norm));
  return std::ssize(outputs);
}

double norm_unit(const ir::PoolNest& nest) {
  double best = 1;
  for (int size = 1; size <= most_unit_exponent; ++size)
    for (const int exponent : {size, -size}) {
      const double unit = std::ldexp(1.0, exponent);
      if (!ir::is_float(nest.input.dtype) &&
          (exponent < 0 || ir::lane_bits(nest.input.dtype, int64_t(3 * unit)) != int64_t(3 * unit)))
        continue;
      if (norms_told(nest, unit) > norms_told(nest, best)) best = unit;
    }
  return best;
}

Rounds step_rounds(const ir::PoolNest& nest) { return Search(nest).run(); }

}  // namespace pooljit::runtime
