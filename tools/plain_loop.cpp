#include "tools/plain_loop.h"

#include <cmath>

#include <type_traits>

namespace pooljit::tools {
namespace {

// The taps of an output position: those in the image are first, first + dilation, ... below end; those in the
// image or its padding are start, start + dilation, ... below padded_end.
struct Taps {
  int64_t first, end, start, padded_end;
};

Taps taps_of(const PlainDim& dim, int64_t output) {
  const int64_t start = output * dim.stride - dim.pad_begin;
  const int64_t past = start + dim.dilation * (dim.kernel - 1) + 1;
  int64_t first = start;
  if (first < 0) first += (-first + dim.dilation - 1) / dim.dilation * dim.dilation;
  const int64_t end = past < dim.limit ? past : dim.limit;
  return {first, end, start, past < dim.padded ? past : dim.padded};
}

int64_t count(int64_t first, int64_t end, int64_t dilation) {
  if (end <= first) return 0;
  return dilation == 1 ? end - first : (end - first - 1) / dilation + 1;
}

int64_t divisor_of(const PlainPool& pool, const Taps (&taps)[3]) {
  if (pool.divisor != 0) return pool.divisor;
  int64_t product = 1;
  for (int i = 0; i < 3; ++i)
    product *= pool.count_include_pad ? count(taps[i].start, taps[i].padded_end, pool.dims[i].dilation)
                                      : count(taps[i].first, taps[i].end, pool.dims[i].dilation);
  return product == 0 ? 1 : product;
}

// The halves, written so that loops over them become vector code: every case is computed, and one chosen.
struct Float16 {
  uint16_t bits;

  Float16() = default;
  explicit Float16(float value) {
    const uint32_t word = bits_of(value), magnitude = word & 0x7fffffff;
    const uint32_t normal = (magnitude - (112U << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    const uint32_t denormal = bits_of(value_of(magnitude) + 0.5F) - bits_of(0.5F);
    uint32_t narrow = magnitude < 0x38800000 ? denormal : normal;
    narrow = magnitude >= 0x47800000 ? 0x7c00 : narrow;
    narrow = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : narrow;
    bits = static_cast<uint16_t>(narrow | (word >> 16 & 0x8000));
  }
  operator float() const {
    const uint32_t magnitude = (bits & 0x7fffU) << 13;
    const uint32_t number = bits_of(value_of(magnitude) * 0x1p112F);
    const uint32_t word = magnitude >= 0x0f800000 ? magnitude | 0x7f800000 : number;
    return value_of(word | (bits & 0x8000U) << 16);
  }

  static uint32_t bits_of(float value) {
    uint32_t word;
    __builtin_memcpy(&word, &value, sizeof word);
    return word;
  }
  static float value_of(uint32_t word) {
    float value;
    __builtin_memcpy(&value, &word, sizeof value);
    return value;
  }
};

struct BFloat16 {
  uint16_t bits;

  BFloat16() = default;
  explicit BFloat16(float value) {
    const uint32_t word = Float16::bits_of(value), rounded = (word + 0x7fff + (word >> 16 & 1)) >> 16;
    bits = static_cast<uint16_t>(value != value ? word >> 16 | 0x40 : rounded);
  }
  operator float() const { return Float16::value_of(uint32_t{bits} << 16); }
};

// Of each element type: the ends of its range, and the type that it is summed in.
template <typename T>
struct Element;
template <>
struct Element<float> {
  static constexpr float lowest = -__builtin_inff(), highest = __builtin_inff();
  using Sum = float;
};
template <>
struct Element<Float16> : Element<float> {};
template <>
struct Element<BFloat16> : Element<float> {};
template <>
struct Element<double> {
  static constexpr double lowest = -__builtin_inf(), highest = __builtin_inf();
  using Sum = double;
};
template <>
struct Element<uint8_t> {
  static constexpr uint8_t lowest = 0, highest = UINT8_MAX;
  using Sum = int32_t;
};
template <>
struct Element<int8_t> {
  static constexpr int8_t lowest = INT8_MIN, highest = INT8_MAX;
  using Sum = int32_t;
};
template <>
struct Element<int16_t> {
  static constexpr int16_t lowest = INT16_MIN, highest = INT16_MAX;
  using Sum = int64_t;
};
template <>
struct Element<int32_t> {
  static constexpr int32_t lowest = INT32_MIN, highest = INT32_MAX;
  using Sum = int64_t;
};
template <>
struct Element<int64_t> {
  static constexpr int64_t lowest = INT64_MIN, highest = INT64_MAX;
  using Sum = int64_t;
};

template <typename T>
constexpr bool is_float = Element<T>::highest / 2 == Element<T>::highest;  // it has an infinity

// What values are compared as: halves as floats.
template <typename T>
using Compared = std::conditional_t<is_float<T>, typename Element<T>::Sum, T>;

template <typename T>
T quotient(const PlainPool& pool, typename Element<T>::Sum sum, int64_t divisor) {
  if constexpr (is_float<T>) return static_cast<T>(sum / static_cast<typename Element<T>::Sum>(divisor));
  const double exact = static_cast<double>(sum) / static_cast<double>(divisor);
  return static_cast<T>(pool.rounds_half_away ? std::round(exact) : std::nearbyint(exact));
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
    if (pool.reduction == PlainReduction::lp) {
      if (pool.norm_type == 1) return run([](Sum& sum, Sum x) { sum += size(x); });
      if (pool.norm_type == 2) return run([](Sum& sum, Sum x) { sum += x * x; });
      if (__builtin_isinf(pool.norm_type))
        return run([](Sum& most, Sum x) { most = ((size(x) > most) | (x != x)) ? size(x) : most; });
      return run([p = pool.norm_type](Sum& sum, Sum x) { sum += static_cast<Sum>(pow(double{size(x)}, p)); });
    }
  }
  run([](Sum& sum, Sum x) { sum += x; });
}

template <typename T>
T finished(const PlainPool& pool, typename Element<T>::Sum sum, int64_t divisor) {
  if (pool.reduction == PlainReduction::avg) return quotient<T>(pool, sum, divisor);
  if (pool.reduction == PlainReduction::lp)
    return static_cast<T>(root(static_cast<double>(sum), pool.norm_type));
  if constexpr (is_float<T>) return static_cast<T>(sum);
  using Limits = Element<T>;
  const auto low = sum < Limits::lowest ? Limits::lowest : sum;
  return static_cast<T>(low > Limits::highest ? Limits::highest : low);
}

struct Place {  // one output position
  Taps taps[3];
  int64_t output;  // its number in the plane
};

// The first place of an output row; the next ones differ in the last dimension only.
Place row_place(const PlainPool& pool, int64_t d, int64_t h) {
  return {{taps_of(pool.dims[0], d), taps_of(pool.dims[1], h), taps_of(pool.dims[2], 0)},
          (d * pool.dims[1].output + h) * pool.dims[2].output};
}

void next_place(const PlainPool& pool, Place& place, int64_t w) {
  place.taps[2] = taps_of(pool.dims[2], w);
  ++place.output;
}

// Calls body(position in the input plane) for each tap, the last dimension innermost.
template <typename Body>
inline __attribute__((always_inline)) void for_taps(const PlainPool& pool, const Place& place,
                                                    const Body& body) {
  const PlainDim(&dims)[3] = pool.dims;
  for (int64_t d = place.taps[0].first; d < place.taps[0].end; d += dims[0].dilation)
    for (int64_t h = place.taps[1].first; h < place.taps[1].end; h += dims[1].dilation)
      for (int64_t w = place.taps[2].first; w < place.taps[2].end; w += dims[2].dilation)
        body((d * dims[1].input + h) * dims[2].input + w);
}

template <typename Rule, typename T>
void extreme_of_plane(const PlainPool& pool, const Place& place, const T* input, T* output,
                      int64_t* indices) {
  Compared<T> best = Rule::worst;
  if (indices == nullptr) {
    for_taps(pool, place,
             [&](int64_t at) { best = Rule::beats(input[at], best) ? Compared<T>(input[at]) : best; });
  } else {
    int64_t index = -1;
    for_taps(pool, place, [&](int64_t at) {
      if (index < 0 || Rule::beats(input[at], best)) {
        best = input[at];
        index = at;
      }
    });
    indices[place.output] = index;
  }
  output[place.output] = static_cast<T>(best);
}

template <typename T>
void sum_of_plane(const PlainPool& pool, const Place& place, const T* input, T* output) {
  with_addition<T>(pool, [&](const auto& add) {
    typename Element<T>::Sum sum = 0;
    for_taps(pool, place, [&](int64_t at) { add(sum, input[at]); });
    output[place.output] = finished<T>(pool, sum, divisor_of(pool, place.taps));
  });
}

template <typename T, bool nan_wins>
void channels_first(const PlainPool& pool, const T* input, T* output, int64_t* indices) {
  for (int64_t d = 0; d < pool.dims[0].output; ++d)
    for (int64_t h = 0; h < pool.dims[1].output; ++h) {
      Place place = row_place(pool, d, h);
      for (int64_t w = 0; w < pool.dims[2].output; next_place(pool, place, ++w)) {
        if (pool.reduction == PlainReduction::max)
          extreme_of_plane<Largest<Compared<T>, nan_wins>>(pool, place, input, output, indices);
        else if (pool.reduction == PlainReduction::min)
          extreme_of_plane<Smallest<Compared<T>, nan_wins>>(pool, place, input, output, indices);
        else
          sum_of_plane(pool, place, input, output);
      }
    }
}

// Channels last: the loop over channels is innermost and contiguous, in blocks whose accumulators stay in the
// L1 cache.
constexpr int64_t block = 256;

template <typename Rule, typename T>
void extreme_of_block(const PlainPool& pool, const Place& place, const T* input, T* output, int64_t* indices,
                      int64_t n) {
  Compared<T> best[block];
  for (int64_t c = 0; c < n; ++c) best[c] = Rule::worst;
  if (indices == nullptr) {
    for_taps(pool, place, [&](int64_t at) {
      const T* row = input + at * pool.channels;
      for (int64_t c = 0; c < n; ++c) {
        const Compared<T> value = row[c];
        best[c] = Rule::beats(value, best[c]) ? value : best[c];
      }
    });
  } else {
    int64_t index[block];
    for (int64_t c = 0; c < n; ++c) index[c] = -1;
    for_taps(pool, place, [&](int64_t at) {
      const T* row = input + at * pool.channels;
      for (int64_t c = 0; c < n; ++c) {
        const Compared<T> value = row[c];
        const bool better = index[c] < 0 || Rule::beats(value, best[c]);
        best[c] = better ? value : best[c];
        index[c] = better ? at : index[c];
      }
    });
    for (int64_t c = 0; c < n; ++c) indices[c] = index[c];
  }
  for (int64_t c = 0; c < n; ++c) output[c] = static_cast<T>(best[c]);
}

template <typename T>
void sum_of_block(const PlainPool& pool, const Place& place, const T* input, T* output, int64_t n) {
  with_addition<T>(pool, [&](const auto& add) {
    typename Element<T>::Sum sum[block];
    for (int64_t c = 0; c < n; ++c) sum[c] = 0;
    for_taps(pool, place, [&](int64_t at) {
      const T* row = input + at * pool.channels;
      for (int64_t c = 0; c < n; ++c) add(sum[c], row[c]);
    });
    const int64_t divisor = divisor_of(pool, place.taps);
    for (int64_t c = 0; c < n; ++c) output[c] = finished<T>(pool, sum[c], divisor);
  });
}

template <typename T, bool nan_wins>
void channels_last_row(const PlainPool& pool, int64_t d, int64_t h, const T* input, T* output,
                       int64_t* indices) {
  Place place = row_place(pool, d, h);
  for (int64_t w = 0; w < pool.dims[2].output; next_place(pool, place, ++w)) {
    const int64_t to = place.output * pool.channels;
    for (int64_t c = 0; c < pool.channels; c += block) {
      const int64_t n = pool.channels - c < block ? pool.channels - c : block;
      if (pool.reduction == PlainReduction::max)
        extreme_of_block<Largest<Compared<T>, nan_wins>>(pool, place, input + c, output + to + c,
                                                         indices == nullptr ? nullptr : indices + to + c, n);
      else if (pool.reduction == PlainReduction::min)
        extreme_of_block<Smallest<Compared<T>, nan_wins>>(pool, place, input + c, output + to + c,
                                                          indices == nullptr ? nullptr : indices + to + c, n);
      else
        sum_of_block(pool, place, input + c, output + to + c, n);
    }
  }
}

int64_t input_plane(const PlainPool& pool) {
  return pool.dims[0].input * pool.dims[1].input * pool.dims[2].input;
}
int64_t output_plane(const PlainPool& pool) {
  return pool.dims[0].output * pool.dims[1].output * pool.dims[2].output;
}

template <typename T, bool nan_wins>
void run_tasks(const PlainPool& pool, const T* input, T* output, int64_t* indices, int64_t begin,
               int64_t end) {
  for (int64_t task = begin; task < end; ++task) {
    if (pool.channels_last) {
      const int64_t rows = pool.dims[0].output * pool.dims[1].output;
      const int64_t image = task / rows, row = task % rows;
      const int64_t to = image * output_plane(pool) * pool.channels;
      channels_last_row<T, nan_wins>(pool, row / pool.dims[1].output, row % pool.dims[1].output,
                                     input + image * input_plane(pool) * pool.channels, output + to,
                                     indices == nullptr ? nullptr : indices + to);
    } else {
      const int64_t to = task * output_plane(pool);
      channels_first<T, nan_wins>(pool, input + task * input_plane(pool), output + to,
                                  indices == nullptr ? nullptr : indices + to);
    }
  }
}

template <typename T>
void run_typed(const PlainPool& pool, const void* input, void* output, int64_t* indices, int64_t begin,
               int64_t end) {
  const auto run = is_float<T> && pool.nan_wins ? run_tasks<T, true> : run_tasks<T, false>;
  run(pool, static_cast<const T*>(input), static_cast<T*>(output), indices, begin, end);
}

}  // namespace

int64_t plain_tasks(const PlainPool& pool) {
  return pool.batch * (pool.channels_last ? pool.dims[0].output * pool.dims[1].output : pool.channels);
}

void run_plain(const PlainPool& pool, const void* input, void* output, int64_t* indices, int64_t begin,
               int64_t end) {
  switch (pool.type) {
    case PlainType::f16:
      return run_typed<Float16>(pool, input, output, indices, begin, end);
    case PlainType::bf16:
      return run_typed<BFloat16>(pool, input, output, indices, begin, end);
    case PlainType::f32:
      return run_typed<float>(pool, input, output, indices, begin, end);
    case PlainType::f64:
      return run_typed<double>(pool, input, output, indices, begin, end);
    case PlainType::u8:
      return run_typed<uint8_t>(pool, input, output, indices, begin, end);
    case PlainType::i8:
      return run_typed<int8_t>(pool, input, output, indices, begin, end);
    case PlainType::i16:
      return run_typed<int16_t>(pool, input, output, indices, begin, end);
    case PlainType::i32:
      return run_typed<int32_t>(pool, input, output, indices, begin, end);
    case PlainType::i64:
      return run_typed<int64_t>(pool, input, output, indices, begin, end);
    default:
      __builtin_trap();  // no tensor has the other types
  }
}

bool plain_loop_runs_here() {
#if defined(__AVX512F__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#elif defined(__AVX2__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

}  // namespace pooljit::tools
