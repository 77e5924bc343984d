#include "ir/agreement.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ir/reference.h"
#include "ir/strips.h"

namespace pooljit::ir {

namespace {

// Elements from the first to the last of a view, both included; 0 without a batch.
int64_t reach(const PoolNest& nest, const View& view, int64_t batch) {
  if (batch == 0) return 0;
  int64_t last = plane_offset(view, batch - 1, nest.channels - 1);
  for (size_t d = 0; d < nest.dims.size(); ++d) last += (nest.dims[d].output - 1) * view.strides[d];
  return last + 1;
}

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
  if (sums.magnitudes > Wide<T>{Limits::max()}) return std::numeric_limits<double>::infinity();
  const auto count = std::abs(static_cast<Wide<T>>(divisor));
  constexpr Wide<T> eps = Limits::epsilon();
  const Wide<T> rounding = eps / 2 * std::abs(sums.sum) / count + Wide<T>{Limits::denorm_min()};
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

template <typename T>
bool same_bits(T a, T b) {
  using Bits = std::array<std::byte, sizeof(T)>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

}  // namespace

std::vector<double> average_bounds(const PoolNest& nest, int64_t batch, const void* input) {
  std::vector<double> bounds(static_cast<size_t>(reach(nest, nest.output, batch)));
  with_element_type(nest.input.dtype, [&]<typename T>(T) {
    if constexpr (std::is_floating_point_v<T>)
      for_each_strip(nest, batch, [&](const Strip& strip, const std::vector<Tap>& taps) {
        if (taps.size() > 1)
          bound_strip(strip, taps, divisor(nest, strip.windows), static_cast<const T*>(input) + strip.input,
                      bounds.data() + strip.output);
      });
  });
  return bounds;
}

Judge::Judge(const PoolNest& nest, int64_t batch, const void* input)
    : nest_(nest), batch_(batch), input_(input) {
  output_.resize(static_cast<size_t>(reach(nest, nest.output, batch) * bytes(nest.output.dtype)));
  if (nest.indices)
    indices_.resize(static_cast<size_t>(reach(nest, *nest.indices, batch) * bytes(nest.indices->dtype)));
  evaluate(nest, batch, input, output_.data(), indices_.data());
}

const std::vector<double>& Judge::bounds() {
  if (bounds_.empty()) bounds_ = average_bounds(nest_, batch_, input_);
  return bounds_;
}

// Whether an engine may return `found` for `expected`, whose place in the output is `offset`.
template <typename T>
bool Judge::allows(T expected, T found, int64_t offset) {
  if (same_bits(expected, found)) return true;
  if (!std::is_floating_point_v<T> || nest_.indices) return false;
  if (expected != expected && found != found) return true;
  if (nest_.reduction == Reduction::max) return expected == found && nest_.zeros == ZeroRule::any;
  const double bound = bounds()[static_cast<size_t>(offset)];
  return expected == found || std::isinf(bound) ||
         std::abs(static_cast<double>(expected) - static_cast<double>(found)) <= bound;
}

template <typename T>
std::optional<std::string> Judge::first_disagreement(const T* output, const void* indices) {
  const T* const expected = reinterpret_cast<const T*>(output_.data());
  std::optional<std::string> first;
  const auto note = [&](std::string_view what, const Strip& strip, int64_t i, auto found, auto wanted) {
    first =
        fmt::format("{} at n={} c={} [{}] is {}, the reference says {}", what, strip.n,
                    strip.c + i * strip.channel_step, fmt::join(strip.position_of(i), ","), found, wanted);
  };
  for_each_strip(nest_, batch_, [&](const Strip& strip, const std::vector<Tap>&) {
    for (int64_t i = 0; i < strip.count && !first; ++i) {
      const int64_t at = strip.output + i * strip.output_step;
      if (!allows(expected[at], output[at], at)) {
        note("output", strip, i, output[at], expected[at]);
        if (nest_.reduction == Reduction::avg)
          *first += fmt::format(", give or take {}", bounds()[static_cast<size_t>(at)]);
      }
      if (first || !nest_.indices) continue;
      const int64_t index_at = strip.indices + i * strip.indices_step;
      const DType dtype = nest_.indices->dtype;
      const int64_t wanted = load_index(dtype, indices_.data(), index_at);
      const int64_t found = load_index(dtype, indices, index_at);
      if (found != wanted) note("index", strip, i, found, wanted);
    }
  });
  return first;
}

std::optional<std::string> Judge::disagreement(const void* output, const void* indices) {
  return with_element_type(nest_.input.dtype, [&]<typename T>(T) {
    return first_disagreement(static_cast<const T*>(output), indices);
  });
}

std::optional<std::string> disagreement(const PoolNest& nest, int64_t batch, const void* input,
                                        const void* output, const void* indices) {
  return Judge(nest, batch, input).disagreement(output, indices);
}

}  // namespace pooljit::ir
