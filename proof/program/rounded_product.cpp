#include "proof/program/rounded_product.h"

#include <cmath>

namespace pooljit::ir {
namespace {

// The nearest integer to a / d of d > 0.
int64_t rounded_quotient(int64_t a, int64_t d, RoundingRule ties) {
  const int64_t below = (a >= 0 ? a : a - d + 1) / d, twice = 2 * (a - below * d);
  const bool raises_tie = ties == RoundingRule::half_away ? a >= 0 : below % 2 != 0;
  return below + (twice > d || (twice == d && raises_tie) ? 1 : 0);
}

bool is_quotient(const RoundedProducts::Numbers& numbers, const RoundedProducts::Quotient& quotient,
                 int64_t divisor, RoundingRule ties) {
  const int64_t counted = quotient.of_low_byte ? 0xff : -1;
  for (int64_t n = numbers.least; n <= numbers.most; n += numbers.step) {
    int64_t moved = n + (quotient.odd ? quotient.odd->of(n) & 1 : 0);
    if (quotient.lowers_negative && n < 0) --moved;
    if (((quotient.product.of(moved) - rounded_quotient(n, divisor, ties)) & counted) != 0) return false;
  }
  return true;
}

}  // namespace

std::optional<RoundedProducts::Divisor> RoundedProducts::divisor(const Numbers& numbers,
                                                                 const Quotient& quotient) {
  const auto [at, is_new] = known_.try_emplace({numbers, quotient});
  const auto is_sound = [](const Product& product) { return product.factor > 0 && product.shift <= 40; };
  if (!is_new || !is_sound(quotient.product) || (quotient.odd && !is_sound(*quotient.odd))) return at->second;
  const double parts = std::ldexp(1.0, static_cast<int>(quotient.product.shift));
  const auto divisor = std::llround(parts / static_cast<double>(quotient.product.factor));
  if (divisor <= 0) return at->second;
  const bool to_even = is_quotient(numbers, quotient, divisor, RoundingRule::half_even),
             away = is_quotient(numbers, quotient, divisor, RoundingRule::half_away);
  if (to_even || away) at->second = Divisor{divisor, std::nullopt};
  if (to_even != away) at->second->ties = to_even ? RoundingRule::half_even : RoundingRule::half_away;
  return at->second;
}

}  // namespace pooljit::ir
