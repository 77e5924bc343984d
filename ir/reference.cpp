#include "ir/reference.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "ir/strips.h"

namespace pooljit::ir {

namespace {

// Something for each output of a strip.
template <typename T>
using PerOutput = std::array<T, Strip::most>;

template <typename T>
constexpr T lowest_value() {
  using Limits = std::numeric_limits<T>;
  return Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
}

// The largest tap of each output; with_winners: and its index, counted from the first tap's.
template <bool with_winners, typename T>
void find_largest(const T* x, const Strip& strip, const std::vector<Tap>& taps, NanRule nan,
                  PerOutput<T>& best, PerOutput<int64_t>& winner) {
  const bool nan_wins = nan == NanRule::propagate;
  std::fill_n(best.begin(), strip.count, lowest_value<T>());
  if constexpr (with_winners) std::fill_n(winner.begin(), strip.count, 0);
  for (const Tap& tap : taps)
    for (int64_t i = 0; i < strip.count; ++i) {
      const T value = x[tap.offset + i * strip.input_step];
      const bool is_nan = value != value;
      const bool wins = (value > best[i]) | (is_nan & nan_wins);
      best[i] = wins ? value : best[i];
      if constexpr (with_winners) winner[i] = wins ? tap.index : winner[i];
    }
}

__extension__ using Wide = __int128;

// Exact for integers, and much longer than T for floats.
template <typename T>
using Sum =
    std::conditional_t<is_float_type<T>, std::conditional_t<sizeof(T) < sizeof(double), double, long double>,
                       std::conditional_t<sizeof(T) < sizeof(int64_t), int64_t, Wide>>;

template <typename T>
void add_up(const T* x, const Strip& strip, const std::vector<Tap>& taps, PerOutput<Sum<T>>& sums) {
  std::fill_n(sums.begin(), strip.count, Sum<T>{0});
  for (const Tap& tap : taps)
    for (int64_t i = 0; i < strip.count; ++i)
      sums[i] += static_cast<Sum<T>>(x[tap.offset + i * strip.input_step]);
}

// To nearest, ties to even.
Wide rounded_quotient(Wide dividend, Wide divisor) {
  const bool is_negative = (dividend < 0) != (divisor < 0);
  const Wide count = divisor < 0 ? -divisor : divisor, size = dividend < 0 ? -dividend : dividend;
  const Wide rest = size % count, missing = count - rest;
  Wide quotient = size / count;
  if (rest > missing || (rest == missing && quotient % 2 == 1)) ++quotient;
  return is_negative ? -quotient : quotient;
}

template <typename T>
T clamped(Wide value) {
  const Wide least = std::numeric_limits<T>::lowest(), most = std::numeric_limits<T>::max();
  return static_cast<T>(std::clamp(value, least, most));
}

template <typename T>
T quotient(Sum<T> sum, int64_t divisor) {
  if constexpr (is_float_type<T>)
    // The divisor is a number of the accumulator's type.
    return static_cast<T>(sum / static_cast<FloatSum<T>>(divisor));
  else
    return clamped<T>(rounded_quotient(sum, divisor));
}

template <typename T>
void evaluate_max(const PoolNest& nest, const Strip& strip, const std::vector<Tap>& taps, const T* input,
                  T* output, void* indices) {
  PerOutput<T> best;
  PerOutput<int64_t> winner;
  if (!nest.indices)
    find_largest<false>(input, strip, taps, nest.nan, best, winner);
  else
    find_largest<true>(input, strip, taps, nest.nan, best, winner);
  for (int64_t i = 0; i < strip.count; ++i) {
    output[i * strip.output_step] = best[i];
    if (nest.indices)
      store_index(nest.indices->dtype, indices, strip.indices + i * strip.indices_step,
                  taps.empty() ? -1 : strip.first_index + i * strip.index_step + winner[i]);
  }
}

template <typename T>
void evaluate_avg(const PoolNest& nest, const Strip& strip, const std::vector<Tap>& taps, const T* input,
                  T* output) {
  PerOutput<Sum<T>> sums;
  add_up(input, strip, taps, sums);
  const int64_t count = divisor(nest, strip.windows);
  for (int64_t i = 0; i < strip.count; ++i) output[i * strip.output_step] = quotient<T>(sums[i], count);
}

}  // namespace

void evaluate(const PoolNest& nest, int64_t batch, const void* input, void* output, void* indices) {
  with_element_type(nest.input.dtype, [&]<typename T>(T) {
    for_each_strip(nest, batch, [&](const Strip& strip, const std::vector<Tap>& taps) {
      const T* const x = static_cast<const T*>(input) + strip.input;
      T* const y = static_cast<T*>(output) + strip.output;
      if (nest.reduction == Reduction::avg)
        evaluate_avg(nest, strip, taps, x, y);
      else
        evaluate_max(nest, strip, taps, x, y, indices);
    });
  });
}

}  // namespace pooljit::ir
