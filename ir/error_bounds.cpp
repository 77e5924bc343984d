#include "ir/error_bounds.h"

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ir/norm.h"
#include "ir/output_spans.h"
#include "ir/reference_epilogue.h"

namespace pooljit::ir {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// A type that does not overflow where T does.
template <typename T>
using Wide = std::conditional_t<sizeof(T) < sizeof(double), double, long double>;

// Of the finite taps of one output.
template <typename T>
struct Sums {
  Wide<T> sum = 0, magnitudes = 0;
};

template <typename T>
ErrorBound sum_bound(const Sums<T>& sums, size_t taps, int64_t divisor) {
  using Limits = std::numeric_limits<T>;
  const auto value = static_cast<double>(sums.sum / static_cast<Wide<T>>(divisor));
  if (taps <= 1) return {value, 0};
  using SumLimits = std::numeric_limits<FloatSum<T>>;
  if (sums.magnitudes > Wide<T>{SumLimits::max()}) return {value, infinity};
  const auto count = std::abs(static_cast<Wide<T>>(divisor));
  // The additions round in the accumulator, and so does the quotient. As halves, the result and the
  // reference's are then rounded once more, perhaps to two neighbours.
  constexpr Wide<T> eps = SumLimits::epsilon();
  constexpr Wide<T> last_eps = eps / 2 + (is_half_type<T> ? Wide<T>{Limits::epsilon()} : 0);
  const Wide<T> rounding = last_eps * std::abs(sums.sum) / count + Wide<T>{Limits::denorm_min()};
  return {value,
          static_cast<double>(static_cast<Wide<T>>(taps - 1) * eps * sums.magnitudes / count + rounding)};
}

// Whatever is multiplied first, a product of some taps lies between that of the taps below 1 and that of
// those above. Each multiplication is off by half of an eps, or by half of the least number; the latter the
// other taps make as much larger as the second product is.
template <typename T>
ErrorBound product_bound(const T* x, const std::vector<Tap>& taps) {
  using Limits = std::numeric_limits<T>;
  using ProductLimits = std::numeric_limits<FloatSum<T>>;
  long double product = 1, small = 1, large = 1;
  bool has_infinity = false;
  for (const Tap& tap : taps) {
    const auto element = static_cast<long double>(x[tap.offset]);
    const long double size = std::abs(element);
    product *= element;
    if (std::isinf(size)) has_infinity = true;
    if (!std::isfinite(size) || size == 0) continue;
    (size < 1 ? small : large) *= size;
  }
  const auto value = static_cast<double>(product);
  if (taps.size() <= 1 || std::isnan(product)) return {value, 0};
  constexpr long double eps = ProductLimits::epsilon(), least = ProductLimits::denorm_min();
  const auto count = static_cast<long double>(taps.size() - 1);
  const bool may_vanish = small < least;
  if (large * (1 + count * eps) > ProductLimits::max() || (has_infinity && may_vanish))
    return {value, infinity};
  if (std::isinf(product)) return {value, 0};
  const long double last = is_half_type<T> ? std::abs(product) * Limits::epsilon() + Limits::denorm_min() : 0;
  const long double error = count * (eps * std::abs(product) + least * large) + last;
  const bool may_overflow = std::abs(product) + error >= static_cast<long double>(Limits::max());
  return {value, may_overflow ? infinity : static_cast<double>(error)};
}

// Of integers, modulo 2^64; what makes a float of it rounds at most three times.
template <typename T>
ErrorBound integer_product_bound(const T* x, const std::vector<Tap>& taps, double eps) {
  uint64_t product = 1;
  for (const Tap& tap : taps) product *= static_cast<uint64_t>(x[tap.offset]);
  const auto value = static_cast<double>(static_cast<int64_t>(product));
  return {value, 3 * eps * std::abs(value)};
}

template <typename T>
void bound_sums(const OutputSpan& span, const std::vector<Tap>& taps, int64_t divisor, const T* input,
                ErrorBound* bounds) {
  std::array<Sums<T>, OutputSpan::most> sums{};
  for (const Tap& tap : taps)
    for (int64_t i = 0; i < span.count; ++i) {
      const T x = input[tap.offset + i * span.input_step];
      const Wide<T> finite = std::abs(x) <= std::numeric_limits<T>::max() ? x : T{0};
      sums[i].sum += finite;
      sums[i].magnitudes += std::abs(finite);
    }
  for (int64_t i = 0; i < span.count; ++i)
    bounds[i * span.output_step] = sum_bound(sums[i], taps.size(), divisor);
}

// Integers are summed exactly; a floating quotient is rounded at most three times.
template <typename T>
ErrorBound integer_bound(const T* x, const std::vector<Tap>& taps, int64_t divisor, double eps) {
  long double sum = 0;
  for (const Tap& tap : taps) sum += static_cast<long double>(x[tap.offset]);
  const auto value = static_cast<double>(sum / static_cast<long double>(divisor));
  return {value, 3 * eps * std::abs(value)};
}

struct Accumulator {
  long double eps, least, most;
};
template <typename T>
constexpr Accumulator accumulator = {std::numeric_limits<T>::epsilon(), std::numeric_limits<T>::denorm_min(),
                                     std::numeric_limits<T>::max()};

template <typename T>
ErrorBound norm_bound(const T* x, const std::vector<Tap>& taps, double p) {
  const Norm exact = norm(x, taps, p);
  const auto value = static_cast<double>(exact.value);
  if (std::isinf(p) || !std::isfinite(exact.power_sum)) return {value, 0};
  const bool is_plain = p == 1 || p == 2;
  const Accumulator sum = is_plain ? accumulator<FloatSum<T>> : accumulator<double>;
  const auto count = static_cast<long double>(taps.size());
  const long double per_term = p == 1 ? 0 : p + 4;
  const long double off = (count + per_term) * sum.eps * exact.power_sum + count * (p + 1) * sum.least;
  const long double high = exact.power_sum + off, low = std::max(exact.power_sum - off, 0.0L);
  if (high > sum.most) return {value, infinity};
  const long double root = 1 / static_cast<long double>(p);
  const long double highest = std::pow(high, root), lowest = std::pow(low, root);
  const long double of_root = is_plain ? 0 : (root + 4) * accumulator<double>.eps;
  if (highest >= accumulator<T>.most) return {value, infinity};
  const long double rounded = highest * (of_root + accumulator<T>.eps) + accumulator<T>.least;
  return {value, static_cast<double>(std::max(highest - exact.value, exact.value - lowest) + rounded)};
}

// The error that the conversion to another floating type adds.
template <typename Out>
void add_conversion(ErrorBound& bound) {
  using Limits = std::numeric_limits<Out>;
  bound.error += static_cast<double>(Limits::epsilon()) * std::abs(bound.value) +
                 static_cast<double>(Limits::denorm_min());
  if (std::abs(bound.value) + bound.error >= static_cast<double>(Limits::max())) bound.error = infinity;
}

template <typename T>
void bound_span(const PoolNest& nest, const OutputSpan& span, const std::vector<Tap>& taps, const T* x,
                ErrorBound* bounds) {
  const int64_t count = divisor(nest, span.windows);
  const bool is_product = info(nest.reduction).kind == ReductionKind::product;
  if (is_float_type<T> && nest.is_sum()) return bound_sums(span, taps, count, x, bounds);
  for (int64_t i = 0; i < span.count; ++i) {
    const T* const first = x + i * span.input_step;
    ErrorBound& bound = bounds[i * span.output_step];
    if constexpr (is_float_type<T>) {
      bound = is_product ? product_bound(first, taps) : norm_bound(first, taps, nest.norm_type);
    } else {
      const double eps = nest.output.dtype == DType::f64 ? 0x1p-52 : 0x1p-23;
      bound = is_product ? integer_product_bound(first, taps, eps) : integer_bound(first, taps, count, eps);
    }
  }
}

}  // namespace

std::vector<ErrorBound> error_bounds(const PoolNest& nest, int64_t batch, const void* input,
                                     Operands operands) {
  std::vector<ErrorBound> bounds(static_cast<size_t>(reach(nest, nest.output, batch)));
  const bool is_exact =
      !is_float(nest.input.dtype) && (!is_float(nest.output.dtype) || !nest.epilogue.empty());
  if (nest.is_extreme() || is_exact) return bounds;
  const OperandReader reader(nest, operands);
  with_element_type(nest.input.dtype, [&]<typename T>(T) {
    for_each_span(nest, batch, [&](const OutputSpan& span, const std::vector<Tap>& taps) {
      bound_span(nest, span, taps, static_cast<const T*>(input) + span.input, bounds.data() + span.output);
      for (int64_t i = 0; !nest.epilogue.empty() && i < span.count; ++i) {
        ErrorBound& bound = bounds[static_cast<size_t>(span.output + i * span.output_step)];
        bound = through_steps(nest, bound, reader.read<double>(span, i));
      }
    });
  });
  const DType result = nest.epilogue.empty() ? nest.input.dtype : nest.result_dtype();
  if (result == nest.output.dtype || !is_float(nest.output.dtype)) return bounds;
  with_element_type(nest.output.dtype, [&]<typename Out>(Out) {
    if constexpr (is_float_type<Out>)
      for (ErrorBound& bound : bounds) add_conversion<Out>(bound);
  });
  return bounds;
}

}  // namespace pooljit::ir
