#include "ir/interp/rounded_product.h"

#include <cmath>

namespace pooljit::ir {
namespace {

// The nearest integer to a / d, ties to even, of d > 0.
int64_t rounded_quotient(int64_t a, int64_t d) {
  const int64_t below = (a >= 0 ? a : a - d + 1) / d, twice = 2 * (a - below * d);
  return below + (twice > d || (twice == d && below % 2 != 0) ? 1 : 0);
}

bool is_quotient(const RoundedProducts::Numbers& numbers, const RoundedProducts::Quotient& quotient,
                 int64_t divisor) {
  const int64_t counted = quotient.of_low_byte ? 0xff : -1;
  for (int64_t n = numbers.least; n <= numbers.most; n += numbers.step) {
    const int64_t raised = n + (quotient.odd ? quotient.odd->of(n) & 1 : 0);
    if (((quotient.product.of(raised) - rounded_quotient(n, divisor)) & counted) != 0) return false;
  }
  return true;
}

}  // namespace

std::optional<int64_t> RoundedProducts::divisor(const Numbers& numbers, const Quotient& quotient) {
  const auto [at, is_new] = known_.try_emplace({numbers, quotient});
  const auto is_sound = [](const Product& product) { return product.factor > 0 && product.shift <= 40; };
  if (!is_new || !is_sound(quotient.product) || (quotient.odd && !is_sound(*quotient.odd))) return at->second;
  const double parts = std::ldexp(1.0, static_cast<int>(quotient.product.shift));
  const auto divisor = std::llround(parts / static_cast<double>(quotient.product.factor));
  if (divisor > 0 && is_quotient(numbers, quotient, divisor)) at->second = divisor;
  return at->second;
}

}  // namespace pooljit::ir
