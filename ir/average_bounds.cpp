#include "ir/average_bounds.h"

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ir/strips.h"

namespace pooljit::ir {

namespace {

// What does not overflow where T does.
template <typename T>
using Wide = std::conditional_t<sizeof(T) < sizeof(double), double, long double>;

// Of the finite taps of one output.
template <typename T>
struct Sums {
  Wide<T> sum = 0, magnitudes = 0;
};

template <typename T>
double average_bound(const Sums<T>& sums, size_t taps, int64_t divisor) {
  using Limits = std::numeric_limits<T>;
  using SumLimits = std::numeric_limits<FloatSum<T>>;
  if (sums.magnitudes > Wide<T>{SumLimits::max()}) return std::numeric_limits<double>::infinity();
  const auto count = std::abs(static_cast<Wide<T>>(divisor));
  // The additions round in the accumulator, and so does the quotient. As halves, the result and the
  // reference's are then rounded once more, perhaps to two neighbours.
  constexpr Wide<T> eps = SumLimits::epsilon();
  constexpr Wide<T> last_eps = eps / 2 + (is_half_type<T> ? Wide<T>{Limits::epsilon()} : 0);
  const Wide<T> rounding = last_eps * std::abs(sums.sum) / count + Wide<T>{Limits::denorm_min()};
  return static_cast<double>(static_cast<Wide<T>>(taps - 1) * eps * sums.magnitudes / count + rounding);
}

template <typename T>
void bound_strip(const Strip& strip, const std::vector<Tap>& taps, int64_t divisor, const T* input,
                 double* bounds) {
  std::array<Sums<T>, Strip::most> sums{};
  for (const Tap& tap : taps)
    for (int64_t i = 0; i < strip.count; ++i) {
      const T x = input[tap.offset + i * strip.input_step];
      const Wide<T> finite = std::abs(x) <= std::numeric_limits<T>::max() ? x : T{0};
      sums[i].sum += finite;
      sums[i].magnitudes += std::abs(finite);
    }
  for (int64_t i = 0; i < strip.count; ++i)
    bounds[i * strip.output_step] = average_bound(sums[i], taps.size(), divisor);
}

}  // namespace

std::vector<double> average_bounds(const PoolNest& nest, int64_t batch, const void* input) {
  std::vector<double> bounds(static_cast<size_t>(reach(nest, nest.output, batch)));
  with_element_type(nest.input.dtype, [&]<typename T>(T) {
    if constexpr (is_float_type<T>)
      for_each_strip(nest, batch, [&](const Strip& strip, const std::vector<Tap>& taps) {
        if (taps.size() > 1)
          bound_strip(strip, taps, divisor(nest, strip.windows), static_cast<const T*>(input) + strip.input,
                      bounds.data() + strip.output);
      });
  });
  return bounds;
}

}  // namespace pooljit::ir
