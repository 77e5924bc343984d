#include "ir/interp/rounded_product.h"

#include <cmath>

namespace pooljit::ir {
namespace {

// The nearest integer to a / d, ties to even, of d > 0.
int64_t rounded_quotient(int64_t a, int64_t d) {
  const int64_t below = (a >= 0 ? a : a - d + 1) / d, twice = 2 * (a - below * d);
  return below + (twice > d || (twice == d && below % 2 != 0) ? 1 : 0);
}

}  // namespace

std::optional<int64_t> RoundedProducts::divisor(const Numbers& numbers, int64_t constant, int64_t factor,
                                                int64_t shift) {
  const auto [at, is_new] = known_.try_emplace({numbers, constant, factor, shift});
  if (!is_new || factor <= 0 || shift > 40) return at->second;
  const auto divisor = std::llround(std::ldexp(1.0, static_cast<int>(shift)) / static_cast<double>(factor));
  if (divisor <= 0) return at->second;
  for (int64_t n = numbers.least; n <= numbers.most; n += numbers.step)
    if (n * factor >> shift != rounded_quotient(n - constant, divisor)) return at->second;
  return at->second = divisor;
}

}  // namespace pooljit::ir
