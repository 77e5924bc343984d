// The oracle's part for epilogues (ir/reference.h): the steps in the plainest code, and their effect on the
// distance that engines may be from the oracle.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "ir/element_type.h"
#include "ir/error_bounds.h"
#include "ir/nest.h"
#include "ir/output_spans.h"

namespace pooljit::ir {

__extension__ using Wide = __int128;

// A result as an element of the output: floats to the nearest integer, ties by the rule, NaN to 0; clamped.
template <typename Out, typename V>
Out converted(V value, RoundingRule rounding = RoundingRule::half_even) {
  if constexpr (is_float_type<Out>) {
    return static_cast<Out>(value);
  } else if constexpr (is_float_type<V>) {
    if (value != value) return 0;
    const auto exact = static_cast<long double>(value);
    const auto whole = rounding == RoundingRule::half_away ? std::round(exact) : std::nearbyint(exact);
    const auto least = static_cast<long double>(std::numeric_limits<Out>::lowest());
    const auto most = static_cast<long double>(std::numeric_limits<Out>::max());
    return static_cast<Out>(std::clamp(whole, least, most));
  } else {
    const auto least = static_cast<Wide>(std::numeric_limits<Out>::lowest());
    const auto most = static_cast<Wide>(std::numeric_limits<Out>::max());
    return static_cast<Out>(std::clamp(Wide{value}, least, most));
  }
}

// One element of each operand.
template <typename T>
using OperandValues = std::array<T, most_operands>;

// x after all steps, before it is converted to the output's dtype; T is the nest's result_dtype().
float through_steps(const PoolNest& nest, float x, const OperandValues<float>& operands);
double through_steps(const PoolNest& nest, double x, const OperandValues<double>& operands);
// The same of a result that is only known to lie within a bound.
ErrorBound through_steps(const PoolNest& nest, const ErrorBound& bound,
                         const OperandValues<double>& operands);

// The operands of a nest where they lie in memory: the first element of each.
class OperandReader {
 public:
  OperandReader(const PoolNest& nest, Operands operands) : views_(operand_views(nest)), operands_(operands) {}

  // At output i of a span.
  template <typename T>
  OperandValues<T> read(const OutputSpan& span, int64_t i) const {
    OperandValues<T> values{};
    for (size_t number = 0; number < views_.size(); ++number) {
      const View& view = views_[number];
      const int64_t at = plane_offset(view, span.n, span.c + i * span.channel_step) +
                         position_offset(view, span.position_of(i));
      with_element_type(view.dtype, [&]<typename Y>(Y) {
        values[number] = static_cast<T>(load_element<Y>(operands_[number], at));
      });
    }
    return values;
  }

 private:
  const std::vector<View> views_;
  const Operands operands_;
};

}  // namespace pooljit::ir
