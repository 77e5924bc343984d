// The plain loop of a forward pooling, of packed tensors, and of views where one is not: a file compiles each
// by itself, so that neither changes what the compiler makes of the other.
#pragma once

#include <cmath>
#include <limits>

#include "tools/plain_parts.h"

namespace pooljit::tools {
namespace {

// The nearest value of an integer type.
template <typename T>
T within_range(double whole) {
  using Limits = std::numeric_limits<T>;
  if (whole <= static_cast<double>(Limits::min())) return Limits::min();
  return whole >= static_cast<double>(Limits::max()) ? Limits::max() : static_cast<T>(whole);
}

template <typename T>
T quotient(const PlainPool& pool, typename Element<T>::Sum sum, int64_t divisor) {
  if constexpr (is_float<T>) {
    return static_cast<T>(sum / static_cast<typename Element<T>::Sum>(divisor));
  } else {
    const double exact = static_cast<double>(sum) / static_cast<double>(divisor);
    const double whole = pool.rounds_half_away ? std::round(exact) : std::nearbyint(exact);
    // Only a given divisor, less than the number of taps, leaves the range.
    return pool.divisor == 0 ? static_cast<T>(whole) : within_range<T>(whole);
  }
}

// What wins over the best so far. No branch: the loop over channels becomes vector code.
template <typename T, bool nan_wins>
struct Largest {
  static constexpr T worst = Element<T>::lowest;
  static bool beats(T value, T best) { return (value > best) | (nan_wins & (value != value)); }
};

template <typename T, bool nan_wins>
struct Smallest {
  static constexpr T worst = Element<T>::highest;
  static bool beats(T value, T best) { return (value < best) | (nan_wins & (value != value)); }
};

template <typename T>
T size(T x) {
  return x < 0 ? -x : x;
}

double root(double sum, double degree) {
  if (degree == 1 || __builtin_isinf(degree)) return sum;
  return degree == 2 ? sqrt(sum) : pow(sum, 1 / degree);
}

// Calls run(add), where add(sum, x) takes one tap into a sum.
template <typename T, typename Run>
void with_addition(const PlainPool& pool, const Run& run) {
  using Sum = typename Element<T>::Sum;
  if constexpr (is_float<T>) {
    if (way_of(pool).kind == Kind::norm) {
      if (pool.norm_type == 1) return run([](Sum& sum, Sum x) { sum += size(x); });
      if (pool.norm_type == 2) return run([](Sum& sum, Sum x) { sum += x * x; });
      if (__builtin_isinf(pool.norm_type))
        return run([](Sum& most, Sum x) { most = ((size(x) > most) | (x != x)) ? size(x) : most; });
      return run([p = pool.norm_type](Sum& sum, Sum x) { sum += static_cast<Sum>(pow(double{size(x)}, p)); });
    }
  }
  if (way_of(pool).kind != Kind::product) return run([](Sum& sum, Sum x) { sum += x; });
  if constexpr (is_float<T>)
    run([](Sum& product, Sum x) { product *= x; });
  else
    run([](Sum& product, Sum x) { __builtin_mul_overflow(product, x, &product); });
}

template <typename T>
T finished(const PlainPool& pool, typename Element<T>::Sum sum, int64_t divisor) {
  if (way_of(pool).divides) return quotient<T>(pool, sum, divisor);
  if (way_of(pool).kind == Kind::norm) return static_cast<T>(root(static_cast<double>(sum), pool.norm_type));
  if (is_float<T> || way_of(pool).kind == Kind::product) return static_cast<T>(sum);
  using Limits = Element<T>;
  const auto low = sum < Limits::lowest ? Limits::lowest : sum;
  return static_cast<T>(low > Limits::highest ? Limits::highest : low);
}

template <typename Rule, bool is_view, typename T>
void extreme_of_plane(const PlainPool& pool, const OutputTaps& place, int64_t to, const T* input, T* output,
                      int64_t* indices) {
  Compared<T> best = Rule::worst;
  if (indices == nullptr) {
    for_taps<is_view>(pool, place, [&](int64_t, int64_t from) {
      best = Rule::beats(input[from], best) ? Compared<T>(input[from]) : best;
    });
  } else {
    int64_t index = -1;
    for_taps<is_view>(pool, place, [&](int64_t at, int64_t from) {
      if (index < 0 || Rule::beats(input[from], best)) {
        best = input[from];
        index = at;
      }
    });
    indices[to] = index;
  }
  output[to] = static_cast<T>(best);
}

template <bool is_view, typename T>
void sum_of_plane(const PlainPool& pool, const OutputTaps& place, int64_t to, const T* input, T* output) {
  with_addition<T>(pool, [&](const auto& add) {
    typename Element<T>::Sum sum = way_of(pool).start == Start::one;
    for_taps<is_view>(pool, place, [&](int64_t, int64_t from) { add(sum, input[from]); });
    output[to] = finished<T>(pool, sum, divisor_of(pool, place.taps));
  });
}

// Elements of the output from one image and channel to another.
template <bool is_view>
int64_t output_offset(const PlainPool& pool, int64_t image, int64_t channel) {
  if constexpr (is_view) return image * pool.to.image + channel * pool.to.channel;
  return image * output_plane(pool) * pool.channels + channel * written_steps(pool).channel;
}

template <bool is_view>
int64_t output_place(const PlainPool& pool, const OutputTaps& place, int64_t d, int64_t h, int64_t w) {
  if constexpr (is_view) return d * pool.to.dims[0] + h * pool.to.dims[1] + w * pool.to.dims[2];
  return place.output * written_steps(pool).place;
}

template <typename T, bool nan_wins, bool is_view>
void channels_first(const PlainPool& pool, const T* input, T* output, int64_t* indices) {
  const Way& way = way_of(pool);
  for (int64_t d = 0; d < pool.dims[0].output; ++d)
    for (int64_t h = 0; h < pool.dims[1].output; ++h) {
      OutputTaps place = row_place(pool, d, h);
      for (int64_t w = 0; w < pool.dims[2].output; next_place(pool, place, ++w)) {
        const int64_t to = output_place<is_view>(pool, place, d, h, w);
        if (way.kind != Kind::extreme)
          sum_of_plane<is_view>(pool, place, to, input, output);
        else if (way.start == Start::lowest)
          extreme_of_plane<Largest<Compared<T>, nan_wins>, is_view>(pool, place, to, input, output, indices);
        else
          extreme_of_plane<Smallest<Compared<T>, nan_wins>, is_view>(pool, place, to, input, output, indices);
      }
    }
}

// Channels last: the loop over channels is innermost and contiguous, in blocks whose accumulators stay in the
// L1 cache.
constexpr int64_t block = 256;

// Calls store(c, element) for c = 0 .. n-1, whose elements lie `step` apart.
template <typename Store>
inline __attribute__((always_inline)) void for_stored(int64_t n, int64_t step, const Store& store) {
  if (step == 1)
    for (int64_t c = 0; c < n; ++c) store(c, c);
  else
    for (int64_t c = 0; c < n; ++c) store(c, c * step);
}

// Calls body(c, channel c of a tap) for c = 0 .. n-1.
template <bool is_view, typename T, typename Body>
inline __attribute__((always_inline)) void for_channels(const PlainPool& pool, const T* input, int64_t place,
                                                        int64_t n, const Body& body) {
  const T* const pixel = input + (is_view ? place : place * pool.channels);
  for (int64_t c = 0; c < n; ++c) body(c, pixel[is_view ? c * pool.from.channel : c]);
}

template <typename Rule, bool is_view, typename T>
void extreme_of_block(const PlainPool& pool, const OutputTaps& place, const T* input, T* output,
                      int64_t* indices, int64_t n) {
  const int64_t step = output_offset<is_view>(pool, 0, 1);
  Compared<T> best[block];
  for (int64_t c = 0; c < n; ++c) best[c] = Rule::worst;
  if (indices == nullptr) {
    for_taps<is_view>(pool, place, [&](int64_t, int64_t from) {
      for_channels<is_view>(pool, input, from, n, [&](int64_t c, Compared<T> value) {
        best[c] = Rule::beats(value, best[c]) ? value : best[c];
      });
    });
  } else {
    int64_t index[block];
    for (int64_t c = 0; c < n; ++c) index[c] = -1;
    for_taps<is_view>(pool, place, [&](int64_t at, int64_t from) {
      for_channels<is_view>(pool, input, from, n, [&](int64_t c, Compared<T> value) {
        const bool better = index[c] < 0 || Rule::beats(value, best[c]);
        best[c] = better ? value : best[c];
        index[c] = better ? at : index[c];
      });
    });
    for_stored(n, step, [&](int64_t c, int64_t to) { indices[to] = index[c]; });
  }
  for_stored(n, step, [&](int64_t c, int64_t to) { output[to] = static_cast<T>(best[c]); });
}

template <bool is_view, typename T>
void sum_of_block(const PlainPool& pool, const OutputTaps& place, const T* input, T* output, int64_t n) {
  with_addition<T>(pool, [&](const auto& add) {
    typename Element<T>::Sum sum[block];
    for (int64_t c = 0; c < n; ++c) sum[c] = way_of(pool).start == Start::one;
    for_taps<is_view>(pool, place, [&](int64_t, int64_t from) {
      for_channels<is_view>(pool, input, from, n, [&](int64_t c, T value) { add(sum[c], value); });
    });
    const int64_t divisor = divisor_of(pool, place.taps);
    for_stored(n, output_offset<is_view>(pool, 0, 1),
               [&](int64_t c, int64_t to) { output[to] = finished<T>(pool, sum[c], divisor); });
  });
}

template <typename T, bool nan_wins, bool is_view>
void channels_last_row(const PlainPool& pool, int64_t d, int64_t h, const T* input, T* output,
                       int64_t* indices) {
  OutputTaps place = row_place(pool, d, h);
  const Way& way = way_of(pool);
  for (int64_t w = 0; w < pool.dims[2].output; next_place(pool, place, ++w)) {
    for (int64_t c = 0; c < pool.channels; c += block) {
      const int64_t to = output_place<is_view>(pool, place, d, h, w) + output_offset<is_view>(pool, 0, c);
      const int64_t n = pool.channels - c < block ? pool.channels - c : block;
      const T* const from = input + c * (is_view ? pool.from.channel : 1);
      if (way.kind != Kind::extreme)
        sum_of_block<is_view>(pool, place, from, output + to, n);
      else if (way.start == Start::lowest)
        extreme_of_block<Largest<Compared<T>, nan_wins>, is_view>(
            pool, place, from, output + to, indices == nullptr ? nullptr : indices + to, n);
      else
        extreme_of_block<Smallest<Compared<T>, nan_wins>, is_view>(
            pool, place, from, output + to, indices == nullptr ? nullptr : indices + to, n);
    }
  }
}

// Elements from one task's first to another's.
template <bool is_view>
int64_t input_offset(const PlainPool& pool, int64_t image, int64_t channel) {
  if constexpr (is_view) return image * pool.from.image + channel * pool.from.channel;
  return (image * pool.channels + channel) * input_plane(pool);
}

template <typename T, bool nan_wins, bool is_view>
void run_tasks(const PlainPool& pool, const T* input, T* output, int64_t* indices, int64_t begin,
               int64_t end) {
  for (int64_t task = begin; task < end; ++task) {
    if (pool.channels_last) {
      const int64_t rows = pool.dims[0].output * pool.dims[1].output;
      const int64_t image = task / rows, row = task % rows;
      const int64_t to = output_offset<is_view>(pool, image, 0);
      channels_last_row<T, nan_wins, is_view>(pool, row / pool.dims[1].output, row % pool.dims[1].output,
                                              input + input_offset<is_view>(pool, image, 0), output + to,
                                              indices == nullptr ? nullptr : indices + to);
    } else {
      const int64_t image = task / pool.channels, channel = task % pool.channels;
      const int64_t to = output_offset<is_view>(pool, image, channel);
      channels_first<T, nan_wins, is_view>(pool, input + input_offset<is_view>(pool, image, channel),
                                           output + to, indices == nullptr ? nullptr : indices + to);
    }
  }
}

template <typename T, bool is_view>
void run_typed(const PlainPool& pool, const void* input, void* output, int64_t* indices, int64_t begin,
               int64_t end) {
  const auto run =
      is_float<T> && pool.nan_wins ? run_tasks<T, is_float<T>, is_view> : run_tasks<T, false, is_view>;
  run(pool, static_cast<const T*>(input), static_cast<T*>(output), indices, begin, end);
}

template <bool is_view>
void run_forward(const PlainPool& pool, const void* input, void* output, int64_t* indices, int64_t begin,
                 int64_t end) {
  switch (pool.type) {
    case PlainType::f16:
      return run_typed<Float16, is_view>(pool, input, output, indices, begin, end);
    case PlainType::bf16:
      return run_typed<BFloat16, is_view>(pool, input, output, indices, begin, end);
    case PlainType::f32:
      return run_typed<float, is_view>(pool, input, output, indices, begin, end);
    case PlainType::f64:
      return run_typed<double, is_view>(pool, input, output, indices, begin, end);
    case PlainType::u8:
      return run_typed<uint8_t, is_view>(pool, input, output, indices, begin, end);
    case PlainType::i8:
      return run_typed<int8_t, is_view>(pool, input, output, indices, begin, end);
    case PlainType::i16:
      return run_typed<int16_t, is_view>(pool, input, output, indices, begin, end);
    case PlainType::i32:
      return run_typed<int32_t, is_view>(pool, input, output, indices, begin, end);
    case PlainType::i64:
      return run_typed<int64_t, is_view>(pool, input, output, indices, begin, end);
    default:
      __builtin_trap();  // no tensor has the other types
  }
}

}  // namespace
}  // namespace pooljit::tools
