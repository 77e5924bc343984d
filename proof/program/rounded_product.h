// The value of the high half of a product with a constant, for each number of a range: how integers of 16
// bits are divided by constants (ir/reductions/short_average.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "ir/nest.h"

namespace pooljit::ir {

class RoundedProducts {
 public:
  // The numbers from `least` to `most`, `step` apart.
  struct Numbers {
    int64_t least, most, step;
    auto operator<=>(const Numbers&) const = default;  // NOLINT(modernize-use-nullptr): there is none
  };
  // (n + added) * factor >> shift
  struct Product {
    int64_t added, factor, shift;
    auto operator<=>(const Product&) const = default;  // NOLINT(modernize-use-nullptr): there is none
    int64_t of(int64_t n) const { return (n + added) * factor >> shift; }
  };
  struct Quotient {
    Product product;
    std::optional<Product> odd;                         // n is one larger where this is odd
    bool lowers_negative = false;                       // n is one less where it is negative
    bool of_low_byte = false;                           // what lies above it does not count
    auto operator<=>(const Quotient&) const = default;  // NOLINT(modernize-use-nullptr): there is none
  };
  struct Divisor {
    int64_t divisor;
    std::optional<RoundingRule> ties;  // none: the numbers have no ties
  };
  // The d for which the quotient is the nearest integer to n / d, and where ties go, for each n of the
  // numbers: all are tried. Null if there is none.
  std::optional<Divisor> divisor(const Numbers& numbers, const Quotient& quotient);

 private:
  std::map<std::pair<Numbers, Quotient>, std::optional<Divisor>> known_;
};

}  // namespace pooljit::ir
