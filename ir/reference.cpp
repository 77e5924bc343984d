#include "ir/reference.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "ir/element_type.h"
#include "ir/norm.h"
#include "ir/output_spans.h"
#include "ir/reference_backward.h"
#include "ir/reference_epilogue.h"

namespace pooljit::ir {

namespace {

// Something for each output of a span.
template <typename T>
using PerOutput = std::array<T, OutputSpan::most>;

// The value that every other beats or equals: the lowest for a maximum, the highest for a minimum.
template <bool is_max, typename T>
constexpr T worst_value() {
  using Limits = std::numeric_limits<T>;
  if (Limits::has_infinity) return is_max ? static_cast<T>(-Limits::infinity()) : Limits::infinity();
  return is_max ? Limits::lowest() : Limits::max();
}

// visit(i, element) for a tap of each output. Neighbours in memory are a loop of their own, which vectorises.
template <typename T, typename Visit>
void for_each_element(const T* x, const OutputSpan& span, const Tap& tap, const Visit& visit) {
  const T* first = x + tap.offset;
  if (span.input_step == 1)
    for (int64_t i = 0; i < span.count; ++i) visit(i, load_element<T>(first, i));
  else
    for (int64_t i = 0; i < span.count; ++i) visit(i, load_element<T>(first, i * span.input_step));
}

// Halves are converted once.
template <typename T>
using Compared = std::conditional_t<is_float_type<T> && sizeof(T) == 2, float, T>;

// The best tap of each output; with_winners: and its index, counted from the first tap's.
template <bool is_max, bool with_winners, typename T>
void find_best(const T* x, const OutputSpan& span, const std::vector<Tap>& taps, NanRule nan,
               PerOutput<T>& best, PerOutput<int64_t>& winner) {
  const bool nan_wins = nan == NanRule::propagate;
  PerOutput<Compared<T>> leader;
  std::fill_n(leader.begin(), span.count, static_cast<Compared<T>>(worst_value<is_max, T>()));
  std::fill_n(best.begin(), span.count, worst_value<is_max, T>());
  if constexpr (with_winners) std::fill_n(winner.begin(), span.count, 0);
  for (const Tap& tap : taps) {
    const int64_t index = tap.index;
    for_each_element(x, span, tap, [&](int64_t i, T element) {
      const auto value = static_cast<Compared<T>>(element);
      const bool is_nan = value != value;
      const bool wins = (is_max ? value > leader[i] : value < leader[i]) | (is_nan & nan_wins);
      leader[i] = wins ? value : leader[i];
      best[i] = wins ? element : best[i];
      if constexpr (with_winners) winner[i] = wins ? index : winner[i];
    });
  }
}

// Exact for integers, and much longer than T for floats.
template <typename T>
using Sum =
    std::conditional_t<is_float_type<T>, std::conditional_t<sizeof(T) < sizeof(double), double, long double>,
                       std::conditional_t<sizeof(T) < sizeof(int64_t), int64_t, Wide>>;

template <typename T>
void add_up(const T* x, const OutputSpan& span, const std::vector<Tap>& taps, PerOutput<Sum<T>>& sums) {
  std::fill_n(sums.begin(), span.count, Sum<T>{0});
  for (const Tap& tap : taps)
    for_each_element(x, span, tap, [&](int64_t i, T element) { sums[i] += static_cast<Sum<T>>(element); });
}

// To nearest.
Wide rounded_quotient(Wide dividend, Wide divisor, RoundingRule ties) {
  const bool is_negative = (dividend < 0) != (divisor < 0);
  const Wide count = divisor < 0 ? -divisor : divisor, size = dividend < 0 ? -dividend : dividend;
  const Wide rest = size % count, missing = count - rest;
  Wide quotient = size / count;
  const bool raises_tie = ties == RoundingRule::half_away || quotient % 2 == 1;
  if (rest > missing || (rest == missing && raises_tie)) ++quotient;
  return is_negative ? -quotient : quotient;
}

// Where results go.
struct Target {
  void* output;
  void* indices;
  OperandReader operands;
};

template <typename V>
void put(const PoolNest& nest, const OutputSpan& span, const PerOutput<V>& values, const Target& target) {
  const auto through = [&]<typename T>(T x, int64_t i) {
    return through_steps(nest, x, target.operands.read<T>(span, i));
  };
  with_element_type(nest.output.dtype, [&]<typename Out>(Out) {
    for (int64_t i = 0; i < span.count; ++i)
      store_element<Out>(target.output, span.output + i * span.output_step,
                         nest.epilogue.empty() ? converted<Out>(values[i], nest.rounding)
                         : nest.result_dtype() == DType::f64
                             ? converted<Out>(through(static_cast<double>(values[i]), i), nest.rounding)
                             : converted<Out>(through(static_cast<float>(values[i]), i), nest.rounding));
  });
}

template <bool is_max, typename T>
void evaluate_extreme(const PoolNest& nest, const OutputSpan& span, const std::vector<Tap>& taps, const T* x,
                      const Target& target) {
  PerOutput<T> best;
  PerOutput<int64_t> winner;
  if (!nest.indices)
    find_best<is_max, false>(x, span, taps, nest.nan, best, winner);
  else
    find_best<is_max, true>(x, span, taps, nest.nan, best, winner);
  put(nest, span, best, target);
  for (int64_t i = 0; nest.indices && i < span.count; ++i)
    store_index(nest.indices->dtype, target.indices, span.indices + i * span.indices_step,
                taps.empty() ? -1 : span.first_index + i * span.index_step + winner[i]);
}

// The accumulator's type is what a floating result is rounded to before it is converted.
template <typename T>
void evaluate_sum(const PoolNest& nest, const OutputSpan& span, const std::vector<Tap>& taps, const T* x,
                  const Target& target) {
  PerOutput<Sum<T>> sums;
  add_up(x, span, taps, sums);
  const int64_t count = divisor(nest, span.windows);
  if constexpr (is_float_type<T>) {
    PerOutput<FloatSum<T>> results;
    for (int64_t i = 0; i < span.count; ++i)
      results[i] = static_cast<FloatSum<T>>(sums[i] / static_cast<FloatSum<T>>(count));
    put(nest, span, results, target);
  } else if (!nest.epilogue.empty() && nest.divides()) {
    PerOutput<double> results;
    for (int64_t i = 0; i < span.count; ++i)
      results[i] = static_cast<double>(sums[i]) / static_cast<double>(count);
    put(nest, span, results, target);
  } else if (!nest.epilogue.empty()) {
    put(nest, span, sums, target);
  } else if (is_float(nest.output.dtype)) {
    PerOutput<long double> results;
    for (int64_t i = 0; i < span.count; ++i)
      results[i] = static_cast<long double>(sums[i]) / static_cast<long double>(count);
    put(nest, span, results, target);
  } else {
    PerOutput<Wide> results;
    for (int64_t i = 0; i < span.count; ++i) results[i] = rounded_quotient(sums[i], count, nest.rounding);
    put(nest, span, results, target);
  }
}

// Of floats in the type that sums have, of integers modulo 2^64, of which the result keeps its bits.
template <typename T>
using Product = std::conditional_t<is_float_type<T>, Sum<T>, uint64_t>;

template <typename T>
void evaluate_product(const PoolNest& nest, const OutputSpan& span, const std::vector<Tap>& taps, const T* x,
                      const Target& target) {
  PerOutput<Product<T>> products;
  std::fill_n(products.begin(), span.count, Product<T>{1});
  for (const Tap& tap : taps)
    for_each_element(x, span, tap,
                     [&](int64_t i, T element) { products[i] *= static_cast<Product<T>>(element); });
  PerOutput<std::conditional_t<is_float_type<T>, FloatSum<T>, int64_t>> results;
  const DType kept = is_float(nest.result_dtype()) ? DType::i64 : nest.result_dtype();
  for (int64_t i = 0; i < span.count; ++i)
    if constexpr (is_float_type<T>)
      results[i] = static_cast<FloatSum<T>>(products[i]);
    else
      results[i] = lane_bits(kept, static_cast<int64_t>(products[i]));
  put(nest, span, results, target);
}

// As ir/nest.h defines it, each operation in float64.
template <typename T>
void evaluate_quantized(const PoolNest& nest, const OutputSpan& span, const std::vector<Tap>& taps,
                        const T* x, const Target& target) {
  const Quantization& q = *nest.quantization;
  const auto count = static_cast<double>(divisor(nest, span.windows));
  PerOutput<Sum<T>> sums;
  add_up(x, span, taps, sums);
  PerOutput<double> results;
  for (int64_t i = 0; i < span.count; ++i) {
    const auto sum =
        static_cast<double>(sums[i] - static_cast<Sum<T>>(taps.size()) * static_cast<Sum<T>>(q.zero_point));
    results[i] = sum * (q.scale / q.output_scale) / count + static_cast<double>(q.output_zero_point);
  }
  put(nest, span, results, target);
}

template <typename T>
void evaluate_norm(const PoolNest& nest, const OutputSpan& span, const std::vector<Tap>& taps, const T* x,
                   const Target& target) {
  PerOutput<FloatSum<T>> results;
  for (int64_t i = 0; i < span.count; ++i)
    results[i] = static_cast<FloatSum<T>>(norm(x + i * span.input_step, taps, nest.norm_type).value);
  put(nest, span, results, target);
}

}  // namespace

void evaluate(const PoolNest& nest, int64_t batch, const void* input, void* output, void* indices,
              Operands operands) {
  if (nest.is_backward()) return evaluate_backward(nest, batch, input, output, {indices, operands});
  const Target target{output, indices, OperandReader(nest, operands)};
  with_element_type(nest.input.dtype, [&]<typename T>(T) {
    for_each_span(nest, batch, [&](const OutputSpan& span, const std::vector<Tap>& taps) {
      const T* const x = static_cast<const T*>(input) + span.input;
      switch (info(nest.reduction).kind) {
        case ReductionKind::extreme:
          return nest.is_maximum() ? evaluate_extreme<true>(nest, span, taps, x, target)
                                   : evaluate_extreme<false>(nest, span, taps, x, target);
        case ReductionKind::sum:
          return nest.quantization ? evaluate_quantized(nest, span, taps, x, target)
                                   : evaluate_sum(nest, span, taps, x, target);
        case ReductionKind::norm:
          return evaluate_norm(nest, span, taps, x, target);
        case ReductionKind::product:
          return evaluate_product(nest, span, taps, x, target);
      }
    });
  });
}

}  // namespace pooljit::ir
