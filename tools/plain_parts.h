// Shared by the plain loops: windows, places, element types. Compiled for the building machine only
// (tools/plain_loop.h), so nothing else includes it.
#pragma once

#include <type_traits>

#include "tools/plain_loop.h"

namespace pooljit::tools {
namespace {

// The taps of an output position: those in the image are first, first + dilation, ... below end; those in the
// image or its padding are start, start + dilation, ... below padded_end.
struct Taps {
  int64_t first, end, start, padded_end;
};

inline Taps taps_of(const PlainDim& dim, int64_t output) {
  if (dim.kernel == 0) {
    const int64_t first = output * dim.input / dim.output;
    const int64_t end = ((output + 1) * dim.input + dim.output - 1) / dim.output;
    return {first, end, first, end};
  }
  const int64_t start = output * dim.stride - dim.pad_begin;
  const int64_t past = start + dim.dilation * (dim.kernel - 1) + 1;
  int64_t first = start;
  if (first < 0) first += (-first + dim.dilation - 1) / dim.dilation * dim.dilation;
  const int64_t end = past < dim.limit ? past : dim.limit;
  return {first, end, start, past < dim.padded ? past : dim.padded};
}

inline int64_t count(int64_t first, int64_t end, int64_t dilation) {
  if (end <= first) return 0;
  return dilation == 1 ? end - first : (end - first - 1) / dilation + 1;
}

inline int64_t divisor_of(const PlainPool& pool, const Taps (&taps)[3]) {
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

// The columns of ir/reductions.def.
enum class Kind : uint8_t { extreme, sum, norm, product };
enum class Start : uint8_t { lowest, highest, zero, one };
struct Way {
  Kind kind;
  Start start;
  bool divides;
};
constexpr Way ways[] = {
#define REDUCTION(name, text, kind, start, divides, note) {Kind::kind, Start::start, (divides) != 0},
#include "ir/reductions.def"
#undef REDUCTION
};
inline const Way& way_of(const PlainPool& pool) { return ways[static_cast<int>(pool.reduction)]; }

struct OutputTaps {  // one output position
  Taps taps[3];
  int64_t output;  // its number in the plane
};

// The first place of an output row; the next ones differ in the last dimension only.
inline OutputTaps row_place(const PlainPool& pool, int64_t d, int64_t h) {
  return {{taps_of(pool.dims[0], d), taps_of(pool.dims[1], h), taps_of(pool.dims[2], 0)},
          (d * pool.dims[1].output + h) * pool.dims[2].output};
}

inline void next_place(const PlainPool& pool, OutputTaps& place, int64_t w) {
  place.taps[2] = taps_of(pool.dims[2], w);
  ++place.output;
}

// Calls body(position in the input plane, its place in the plane that is read) for each tap, the last
// dimension innermost. The place is the position, or of a view the element.
template <bool is_view, typename Body>
inline __attribute__((always_inline)) void for_taps(const PlainPool& pool, const OutputTaps& place,
                                                    const Body& body) {
  const PlainDim(&dims)[3] = pool.dims;
  const Taps& columns = place.taps[2];
  for (int64_t d = place.taps[0].first; d < place.taps[0].end; d += dims[0].dilation)
    for (int64_t h = place.taps[1].first; h < place.taps[1].end; h += dims[1].dilation) {
      const int64_t row = (d * dims[1].input + h) * dims[2].input;
      const auto tap = [&](int64_t w) {
        body(row + w,
             is_view ? d * pool.from.dims[0] + h * pool.from.dims[1] + w * pool.from.dims[2] : row + w);
      };
      if (dims[2].dilation == 1)
        for (int64_t w = columns.first; w < columns.end; ++w) tap(w);
      else
        for (int64_t w = columns.first; w < columns.end; w += dims[2].dilation) tap(w);
    }
}

inline int64_t input_plane(const PlainPool& pool) {
  return pool.dims[0].input * pool.dims[1].input * pool.dims[2].input;
}
inline int64_t output_plane(const PlainPool& pool) {
  return pool.dims[0].output * pool.dims[1].output * pool.dims[2].output;
}

// Steps from place to place of a plane, and from channel to channel.
struct Steps {
  int64_t place, channel;
};
inline Steps steps_of(bool channels_last, int64_t channels, int64_t plane) {
  return channels_last ? Steps{channels, 1} : Steps{1, plane};
}
inline Steps written_steps(const PlainPool& pool) {
  return steps_of(pool.writes_channels_last, pool.channels, output_plane(pool));
}

}  // namespace
}  // namespace pooljit::tools
