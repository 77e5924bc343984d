#include "ir/agreement.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "ir/error_bounds.h"
#include "ir/half.h"
#include "ir/output_spans.h"
#include "ir/reference.h"
#include "ir/reference_backward.h"

namespace pooljit::ir {

namespace {

template <typename T>
bool same_bits(T a, T b) {
  using Bits = std::array<std::byte, sizeof(T)>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

}  // namespace

bool shares_zeros_of_any_sign(const PoolNest& nest) {
  return nest.is_backward() && nest.divides() && nest.divisor_override && *nest.divisor_override < 0 &&
         is_float(nest.output.dtype);
}

Judge::Judge(const PoolNest& nest, int64_t batch, const void* input, const void* indices, Operands operands)
    : nest_(nest),
      batch_(batch),
      input_(input),
      read_indices_(indices),
      operands_(operands.begin(), operands.end()) {
  output_.resize(static_cast<size_t>(reach(nest, nest.output, batch) * bytes(nest.output.dtype)));
  if (nest.is_backward()) {
    evaluate(nest, batch, input, output_.data(), const_cast<void*>(indices), operands_);
    return;
  }
  if (nest.indices)
    indices_.resize(static_cast<size_t>(reach(nest, *nest.indices, batch) * bytes(nest.indices->dtype)));
  evaluate(nest, batch, input, output_.data(), indices_.data(), operands_);
}

const std::vector<ErrorBound>& Judge::bounds() {
  if (bounds_.empty())
    bounds_ = nest_.is_backward() ? gradient_bounds(nest_, batch_, input_, {read_indices_, operands_})
                                  : error_bounds(nest_, batch_, input_, operands_);
  return bounds_;
}

// Whether an engine may return `found` for `expected`, whose place in the output is `offset`.
template <typename T>
bool Judge::allows(T expected, T found, int64_t offset) {
  if (same_bits(expected, found)) return true;
  // With an index comes the element at it, bit for bit, unless steps compute with it.
  if (writes_indices() && nest_.epilogue.empty()) return false;
  if (expected != expected && found != found) return true;
  if (nest_.is_extreme() && !nest_.is_backward())
    return expected == found && nest_.zeros == ZeroRule::any && !writes_indices();
  if (nest_.quantization) return false;
  const ErrorBound bound = bounds()[static_cast<size_t>(offset)];
  // A bound that an overflow and a factor of 0 made NaN bounds nothing either.
  if (expected == found || !std::isfinite(bound.error)) return true;
  if constexpr (is_float_type<T>) {
    return std::abs(static_cast<double>(expected) - static_cast<double>(found)) <= bound.error;
  } else {
    if (bound.error == 0) return false;
    // Some number within the bound is rounded to it, or lies beyond the end of the range that it is.
    const auto one = static_cast<long double>(found);
    const bool is_lowest = found == std::numeric_limits<T>::lowest(),
               is_most = found == std::numeric_limits<T>::max();
    return (is_most || std::nearbyint(bound.value - bound.error) <= one) &&
           (is_lowest || one <= std::nearbyint(bound.value + bound.error));
  }
}

template <typename T>
std::optional<std::string> Judge::first_disagreement(const T* output, const void* indices) {
  const T* const expected = reinterpret_cast<const T*>(output_.data());
  std::optional<std::string> first;
  const auto note = [&](std::string_view what, const OutputSpan& span, int64_t i, auto found, auto wanted) {
    first = fmt::format("{} at n={} c={} [{}] is {}, the reference says {}", what, span.n,
                        span.c + i * span.channel_step, fmt::join(span.position_of(i), ","), found, wanted);
  };
  for_each_span(nest_, batch_, [&](const OutputSpan& span, const std::vector<Tap>&) {
    for (int64_t i = 0; i < span.count && !first; ++i) {
      const int64_t at = span.output + i * span.output_step;
      if (!allows(expected[at], output[at], at)) {
        note("output", span, i, output[at], expected[at]);
        if (const double error = bounds()[static_cast<size_t>(at)].error; error != 0)
          *first += fmt::format(", give or take {}", error);
      }
      if (first || !writes_indices()) continue;
      const int64_t index_at = span.indices + i * span.indices_step;
      const DType dtype = nest_.indices->dtype;
      const int64_t wanted = load_index(dtype, indices_.data(), index_at);
      const int64_t found = load_index(dtype, indices, index_at);
      if (found != wanted) note("index", span, i, found, wanted);
    }
  });
  return first;
}

std::optional<std::string> Judge::disagreement(const void* output, const void* indices) {
  return with_element_type(nest_.output.dtype, [&]<typename T>(T) {
    return first_disagreement(static_cast<const T*>(output), indices);
  });
}

std::optional<std::string> disagreement(const PoolNest& nest, int64_t batch, const void* input,
                                        const void* output, const void* indices, Operands operands) {
  return Judge(nest, batch, input, indices, operands).disagreement(output, indices);
}

}  // namespace pooljit::ir
