#include "ir/agreement.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "ir/places.h"
#include "ir/reference.h"

namespace pooljit::ir {

namespace {

// Elements from the first to the last of a view, both included; 0 without a batch.
int64_t reach(const PoolNest& nest, const View& view, int64_t batch) {
  if (batch == 0) return 0;
  int64_t last = plane_offset(view, batch - 1, nest.channels - 1);
  for (size_t d = 0; d < nest.dims.size(); ++d) last += (nest.dims[d].output - 1) * view.strides[d];
  return last + 1;
}

template <typename T>
double average_bound(const T* plane, const Taps& taps, int64_t divisor) {
  if (!std::is_floating_point_v<T> || taps.from_first.size() <= 1) return 0;
  using Limits = std::numeric_limits<T>;
  long double sum = 0, magnitudes = 0;
  for (const Tap& tap : taps.from_first) {
    const auto x = static_cast<long double>(plane[taps.first.offset + tap.offset]);
    if (!std::isfinite(x)) continue;
    sum += x;
    magnitudes += std::abs(x);
  }
  if (magnitudes > static_cast<long double>(Limits::max())) return std::numeric_limits<double>::infinity();
  const long double count = std::abs(static_cast<long double>(divisor));
  const long double eps = Limits::epsilon();
  const long double rounding = eps / 2 * std::abs(sum) / count + Limits::denorm_min();
  return static_cast<double>(static_cast<long double>(taps.from_first.size() - 1) * eps * magnitudes / count +
                             rounding);
}

template <typename T>
bool same_bits(T a, T b) {
  using Bits = std::array<std::byte, sizeof(T)>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

// Whether an engine may return `found` for `expected`. bound() is asked for only where the two differ.
template <typename T, typename Bound>
bool allows(const PoolNest& nest, T expected, T found, const Bound& bound) {
  if (same_bits(expected, found)) return true;
  if (!std::is_floating_point_v<T> || nest.indices) return false;
  if (expected != expected && found != found) return true;
  if (nest.reduction == Reduction::max) return expected == found && nest.zeros == ZeroRule::any;
  return expected == found || std::isinf(bound()) ||
         std::abs(static_cast<double>(expected) - static_cast<double>(found)) <= bound();
}

// The elements of a tensor by their coordinates.
template <typename T>
const T& at(const T* data, const View& view, int64_t n, int64_t c, const std::vector<int64_t>& position) {
  return data[plane_offset(view, n, c) + position_offset(view, position)];
}

template <typename T>
std::optional<std::string> first_disagreement(const PoolNest& nest, int64_t batch, const T* input,
                                              const T* output, const int64_t* indices) {
  std::vector<T> expected(static_cast<size_t>(reach(nest, nest.output, batch)));
  std::vector<int64_t> expected_indices;
  if (nest.indices) expected_indices.resize(static_cast<size_t>(reach(nest, *nest.indices, batch)));
  evaluate(nest, batch, input, expected.data(), expected_indices.data());

  Taps taps(nest);
  std::optional<std::string> first;
  for_each_place(nest, [&](const std::vector<int64_t>& position, const std::vector<Window>& windows) {
    for (int64_t n = 0; n < batch && !first; ++n)
      for (int64_t c = 0; c < nest.channels && !first; ++c) {
        const auto bound = [&] {
          taps.move_to(windows);
          return average_bound(input + plane_offset(nest.input, n, c), taps, divisor(nest, windows));
        };
        const T found = at(output, nest.output, n, c, position);
        const T wanted = at(expected.data(), nest.output, n, c, position);
        const auto where = [&] { return fmt::format("n={} c={} [{}]", n, c, fmt::join(position, ",")); };
        if (!allows(nest, wanted, found, bound)) {
          first = fmt::format("output at {} is {}, the reference says {}", where(), found, wanted);
          if (nest.reduction == Reduction::avg) *first += fmt::format(", give or take {}", bound());
        } else if (nest.indices) {
          const int64_t found_index = at(indices, *nest.indices, n, c, position);
          const int64_t wanted_index = at<int64_t>(expected_indices.data(), *nest.indices, n, c, position);
          if (found_index != wanted_index)
            first =
                fmt::format("index at {} is {}, the reference says {}", where(), found_index, wanted_index);
        }
      }
  });
  return first;
}

}  // namespace

std::vector<double> average_bounds(const PoolNest& nest, int64_t batch, const void* input) {
  int64_t places = 1;
  for (const NestDim& dim : nest.dims) places *= dim.output;
  std::vector<double> bounds(static_cast<size_t>(batch * nest.channels * places));
  with_element_type(nest.input.dtype, [&]<typename T>(T) {
    Taps taps(nest);
    size_t place = 0;
    for_each_place(nest, [&](const std::vector<int64_t>&, const std::vector<Window>& windows) {
      taps.move_to(windows);
      const int64_t count = divisor(nest, windows);
      for (int64_t plane = 0; plane < batch * nest.channels; ++plane) {
        const int64_t n = plane / nest.channels, c = plane % nest.channels;
        bounds[static_cast<size_t>(plane * places) + place] =
            average_bound(static_cast<const T*>(input) + plane_offset(nest.input, n, c), taps, count);
      }
      ++place;
    });
  });
  return bounds;
}

std::optional<std::string> disagreement(const PoolNest& nest, int64_t batch, const void* input,
                                        const void* output, const void* indices) {
  return with_element_type(nest.input.dtype, [&]<typename T>(T) {
    return first_disagreement(nest, batch, static_cast<const T*>(input), static_cast<const T*>(output),
                              static_cast<const int64_t*>(indices));
  });
}

}  // namespace pooljit::ir
