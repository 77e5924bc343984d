// The backward pass as it is said, as a scatter: over the windows of the forward pass, tap by tap. Lowering
// gathers.
#include "ir/reference_backward.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "ir/element_type.h"
#include "ir/window_taps.h"

namespace pooljit::ir {

namespace {

struct Gradient {
  long double sum = 0, magnitudes = 0;
  long double undivided = 0;  // magnitudes before the division, which an engine may leave to the end
  int64_t terms = 0;
};

// What each output is the sum of, at its place in the output view.
std::vector<Gradient> gradients(const PoolNest& nest, int64_t batch, const void* input, const void* indices) {
  const PoolNest forward = forward_of(nest);
  const IndexRule rule = index_rule(forward);
  std::vector<Gradient> sums(static_cast<size_t>(reach(nest, nest.output, batch)));
  WindowTaps taps(forward);
  const auto add = [&](int64_t at, long double value, long double count) {
    Gradient& gradient = sums[static_cast<size_t>(at)];
    gradient.sum += value / count;
    gradient.magnitudes += std::abs(value / count);
    gradient.undivided += std::abs(value);
    ++gradient.terms;
  };
  for_each_position(
      forward.dims, [&](const std::vector<int64_t>& position, const std::vector<Window>& windows) {
        taps.move_to(windows);
        const auto count =
            static_cast<long double>(nest.reduction == Reduction::avg ? divisor(forward, windows) : 1);
        for (int64_t n = 0; n < batch; ++n)
          for (int64_t c = 0; c < nest.channels; ++c) {
            const auto offset = [&](const View& view) {
              return plane_offset(view, n, c) + position_offset(view, position);
            };
            const auto value = with_element_type(nest.input.dtype, [&]<typename T>(T) {
              return static_cast<long double>(static_cast<const T*>(input)[offset(nest.input)]);
            });
            const int64_t base = n * rule.batch + c * rule.channel + taps.first.index;
            const int64_t to = plane_offset(nest.output, n, c) + taps.first.offset;
            for (const Tap& tap : taps.from_first) {
              if (!nest.indices)
                add(to + tap.offset, value, count);
              else if (load_index(nest.indices->dtype, indices, offset(*nest.indices)) == base + tap.index)
                add(to + tap.offset, value, 1);
            }
          }
      });
  return sums;
}

}  // namespace

void evaluate_backward(const PoolNest& nest, int64_t batch, const void* input, void* output,
                       const void* indices) {
  const std::vector<Gradient> sums = gradients(nest, batch, input, indices);
  with_element_type(nest.output.dtype, [&]<typename T>(T) {
    for_each_position(nest.dims, [&](const std::vector<int64_t>& position, const std::vector<Window>&) {
      for (int64_t n = 0; n < batch; ++n)
        for (int64_t c = 0; c < nest.channels; ++c) {
          const int64_t at = plane_offset(nest.output, n, c) + position_offset(nest.output, position);
          static_cast<T*>(output)[at] = static_cast<T>(sums[static_cast<size_t>(at)].sum);
        }
    });
  });
}

std::vector<ErrorBound> gradient_bounds(const PoolNest& nest, int64_t batch, const void* input,
                                        const void* indices) {
  std::vector<ErrorBound> bounds;
  with_element_type(nest.output.dtype, [&]<typename T>(T) {
    if constexpr (is_float_type<T>) {
      using Limits = std::numeric_limits<T>;
      constexpr long double eps = std::numeric_limits<FloatSum<T>>::epsilon();
      // A term is a quotient, which below the normal range is rounded by half the least number.
      constexpr long double least = std::numeric_limits<FloatSum<T>>::denorm_min();
      constexpr long double last_eps =
          eps + (is_half_type<T> ? static_cast<long double>(Limits::epsilon()) : 0);
      for (const Gradient& gradient : gradients(nest, batch, input, indices)) {
        const long double rounded =
            static_cast<long double>(gradient.terms) * (eps * gradient.magnitudes + least / 2) +
            last_eps * std::abs(gradient.sum) + static_cast<long double>(Limits::denorm_min());
        const bool overflows = gradient.undivided + rounded > static_cast<long double>(Limits::max());
        bounds.push_back({static_cast<double>(gradient.sum), overflows
                                                                 ? std::numeric_limits<double>::infinity()
                                                                 : static_cast<double>(rounded)});
      }
    }
  });
  return bounds;
}

}  // namespace pooljit::ir
