// What the high half of a product with a constant comes to, for each number of a range: how integers of 16
// bits are divided by constants (ir/reductions/short_average.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

namespace pooljit::ir {

class RoundedProducts {
 public:
  // The numbers from `least` to `most`, `step` apart.
  struct Numbers {
    int64_t least, most, step;
    auto operator<=>(const Numbers&) const = default;  // NOLINT(modernize-use-nullptr): there is none
  };
  // The d for which (n * factor) >> shift is the nearest integer to (n - constant) / d, ties to even, for
  // each n of the numbers: all are tried. Null if there is none.
  std::optional<int64_t> divisor(const Numbers& numbers, int64_t constant, int64_t factor, int64_t shift);

 private:
  std::map<std::tuple<Numbers, int64_t, int64_t, int64_t>, std::optional<int64_t>> known_;
};

}  // namespace pooljit::ir
