#include "ir/reference.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "ir/places.h"

namespace pooljit::ir {

namespace {

template <typename T>
struct Winner {
  T value;
  int64_t index;
};

template <typename T>
Winner<T> largest(const T* plane, const Taps& taps, NanRule nan) {
  constexpr bool has_infinity = std::numeric_limits<T>::has_infinity;
  Winner<T> best = {has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest(),
                    taps.from_first.empty() ? -1 : taps.first.index};
  for (const Tap& tap : taps.from_first) {
    const T x = plane[taps.first.offset + tap.offset];
    const bool is_nan = x != x;
    if (x > best.value || (is_nan && nan == NanRule::propagate)) best = {x, taps.first.index + tap.index};
  }
  return best;
}

uint64_t magnitude(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

// To nearest, ties to even, then clamped to T. In magnitudes, which have room for every int64.
template <typename T>
T rounded_quotient(int64_t dividend, int64_t divisor) {
  const bool is_negative = (dividend < 0) != (divisor < 0);
  const uint64_t count = magnitude(divisor);
  uint64_t quotient = magnitude(dividend) / count;
  const uint64_t rest = magnitude(dividend) % count, missing = count - rest;
  if (rest > missing || (rest == missing && quotient % 2 == 1)) ++quotient;
  const int64_t most = is_negative ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  const auto clamped = static_cast<int64_t>(std::min(quotient, magnitude(most)));
  return static_cast<T>(is_negative ? -clamped : clamped);
}

template <typename T>
T average(const T* plane, const Taps& taps, int64_t divisor) {
  if constexpr (std::is_floating_point_v<T>) {
    long double sum = 0;
    for (const Tap& tap : taps.from_first)
      sum += static_cast<long double>(plane[taps.first.offset + tap.offset]);
    return static_cast<T>(sum /
                          static_cast<T>(divisor));  // the divisor is a number of the accumulator's type
  } else {
    int64_t sum = 0;
    for (const Tap& tap : taps.from_first) sum += plane[taps.first.offset + tap.offset];
    return rounded_quotient<T>(sum, divisor);
  }
}

}  // namespace

void evaluate(const PoolNest& nest, int64_t batch, const void* input, void* output, void* indices) {
  Taps taps(nest);
  with_element_type(nest.input.dtype, [&]<typename T>(T) {
    for_each_place(nest, [&](const std::vector<int64_t>& position, const std::vector<Window>& windows) {
      taps.move_to(windows);
      const int64_t count = divisor(nest, windows);
      const int64_t offset = position_offset(nest.output, position);
      const int64_t index_offset = nest.indices ? position_offset(*nest.indices, position) : 0;
      for (int64_t n = 0; n < batch; ++n)
        for (int64_t c = 0; c < nest.channels; ++c) {
          const T* const x = static_cast<const T*>(input) + plane_offset(nest.input, n, c);
          T& y = static_cast<T*>(output)[plane_offset(nest.output, n, c) + offset];
          if (nest.reduction == Reduction::avg) {
            y = average(x, taps, count);
            continue;
          }
          const Winner<T> winner = largest(x, taps, nest.nan);
          y = winner.value;
          if (nest.indices)
            static_cast<int64_t*>(indices)[plane_offset(*nest.indices, n, c) + index_offset] = winner.index;
        }
    });
  });
}

}  // namespace pooljit::ir
