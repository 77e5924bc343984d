// The backward pass as it is said, as a scatter: over the windows of the forward pass, tap by tap. Lowering
// gathers.
#include "ir/reference_backward.h"

#include <cmath>
#include <limits>

#include "ir/element_type.h"
#include "ir/window_taps.h"

namespace pooljit::ir {

namespace {

struct Gradient {
  long double sum = 0, magnitudes = 0;
  long double undivided = 0;  // magnitudes before the division, which an engine may leave to the end
  long double factor = 1;     // of a norm: what sum was multiplied by in the end
  int64_t terms = 0;
  bool leaves_range = false;  // a power may be too large or too small for the type of the sums
};

long double element(const View& view, const void* data, int64_t at) {
  return with_element_type(
      view.dtype, [&]<typename T>(T) { return static_cast<long double>(load_element<T>(data, at)); });
}

// The type in which a norm's gradients are summed.
struct Range {
  long double eps, denormal, least, most;

  template <typename T>
  static Range of() {
    using Limits = std::numeric_limits<T>;
    return {Limits::epsilon(), Limits::denorm_min(), Limits::min(), Limits::max()};
  }
  bool holds(long double x) const { return x == 0 || (std::abs(x) >= least && std::abs(x) <= most); }
};

Range range_of(const PoolNest& nest) {
  const bool is_norm = nest.is_norm_gradient() && nest.norm_type != 1 && nest.norm_type != 2;
  return is_norm || nest.input.dtype == DType::f64 ? Range::of<double>() : Range::of<float>();
}

// |x|^(p-1).
long double power(const PoolNest& nest, long double x) {
  return std::pow(std::abs(x), static_cast<long double>(nest.norm_type) - 1);
}

// g / y^(p-1): nothing of a window whose norm is 0, NaN of one whose norm is NaN.
long double share_of_norm(const PoolNest& nest, long double g, long double y) {
  return std::abs(y) > 0 ? g / power(nest, y) : std::abs(y);
}

// visit(where the element lies in the output view)
template <typename Visit>
void for_each_output(const PoolNest& nest, int64_t batch, const Visit& visit) {
  for_each_position(nest.dims, [&](const std::vector<int64_t>& position, const std::vector<Window>&) {
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t c = 0; c < nest.channels; ++c)
        visit(plane_offset(nest.output, n, c) + position_offset(nest.output, position));
  });
}

// Of a norm: each sum times |x|^(p-1) and the sign of x, the forward's input there.
void multiply_by_inputs(const PoolNest& nest, int64_t batch, const void* x, std::vector<Gradient>& sums) {
  const Range range = range_of(nest);
  for_each_output(nest, batch, [&](int64_t at) {
    const long double here = element(nest.output, x, at);
    Gradient& gradient = sums[static_cast<size_t>(at)];
    gradient.factor = here < 0 ? -power(nest, here) : power(nest, here);
    gradient.sum *= gradient.factor;
    gradient.leaves_range |= !range.holds(gradient.factor);
  });
}

// What each output is the sum of, at its place in the output view.
std::vector<Gradient> gradients(const PoolNest& nest, int64_t batch, const void* input,
                                const ReadBeside& beside) {
  const PoolNest forward = forward_of(nest);
  const IndexRule rule = index_rule(forward);
  const Range range = range_of(nest);
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
        const auto count = static_cast<long double>(divisor(forward, windows));
        for (int64_t n = 0; n < batch; ++n)
          for (int64_t c = 0; c < nest.channels; ++c) {
            const auto offset = [&](const View& view) {
              return plane_offset(view, n, c) + position_offset(view, position);
            };
            const int64_t from = offset(nest.input);
            long double value = element(nest.input, input, from);
            bool leaves_range = false;
            if (nest.is_norm_gradient()) {
              const long double y = element(nest.input, beside.operands[1], from);
              value = share_of_norm(nest, value, y);
              leaves_range = y != 0 && !(range.holds(power(nest, y)) && std::abs(value) <= range.most);
            }
            const int64_t base = n * rule.batch + c * rule.channel + taps.first.index;
            const int64_t to = plane_offset(nest.output, n, c) + taps.first.offset;
            for (const Tap& tap : taps.from_first) {
              if (nest.indices &&
                  load_index(nest.indices->dtype, beside.indices, offset(*nest.indices)) != base + tap.index)
                continue;
              add(to + tap.offset, value, count);
              sums[static_cast<size_t>(to + tap.offset)].leaves_range |= leaves_range;
            }
          }
      });
  if (nest.is_norm_gradient()) multiply_by_inputs(nest, batch, beside.operands[0], sums);
  return sums;
}

}  // namespace

void evaluate_backward(const PoolNest& nest, int64_t batch, const void* input, void* output,
                       const ReadBeside& beside) {
  const std::vector<Gradient> sums = gradients(nest, batch, input, beside);
  with_element_type(nest.output.dtype, [&]<typename T>(T) {
    for_each_output(nest, batch, [&](int64_t at) {
      store_element<T>(output, at, static_cast<T>(sums[static_cast<size_t>(at)].sum));
    });
  });
}

std::vector<ErrorBound> gradient_bounds(const PoolNest& nest, int64_t batch, const void* input,
                                        const ReadBeside& beside) {
  std::vector<ErrorBound> bounds;
  with_element_type(nest.output.dtype, [&]<typename T>(T) {
    if constexpr (is_float_type<T>) {
      using Limits = std::numeric_limits<T>;
      const Range range = range_of(nest);
      const long double last_eps =
          range.eps + (is_half_type<T> ? static_cast<long double>(Limits::epsilon()) : 0);
      // Of a norm: what a quotient by a power is off by, and what a product with one is.
      const long double of_power = nest.is_norm_gradient() ? (nest.norm_type + 4) * range.eps : 0;
      for (const Gradient& gradient : gradients(nest, batch, input, beside)) {
        // A term is a quotient, which below the normal range is rounded by half the least number.
        const long double of_terms =
            static_cast<long double>(gradient.terms) * (range.eps * gradient.magnitudes + range.denormal / 2);
        const long double rounded = std::abs(gradient.factor) * (of_terms + of_power * gradient.magnitudes) +
                                    (last_eps + of_power) * std::abs(gradient.sum) +
                                    static_cast<long double>(Limits::denorm_min());
        const bool overflows = gradient.leaves_range || gradient.undivided > range.most ||
                               std::abs(gradient.factor) * gradient.undivided + rounded >
                                   static_cast<long double>(Limits::max());
        bounds.push_back({static_cast<double>(gradient.sum), overflows
                                                                 ? std::numeric_limits<double>::infinity()
                                                                 : static_cast<double>(rounded)});
      }
    }
  });
  return bounds;
}

}  // namespace pooljit::ir
