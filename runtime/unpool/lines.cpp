#include "runtime/unpool/lines.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ir/offsets.h"

namespace pooljit::runtime {
namespace {

// How far it is from one value of a row to the next, its index and what its offset is counted from: of a
// plane without gaps, of channels without gaps, of a plane, or what the line says. What is known makes short
// loops.
enum class Steps { dense_plane, channels, plane, any };

Steps steps_of(const Line& line) {
  const LineLoop& inner = line.inner;
  if (inner.base_step != 0 || inner.places_step > 1) return Steps::any;
  if (inner.places_step == 0) return inner.step == 1 ? Steps::dense_plane : Steps::plane;
  return inner.step == 1 ? Steps::channels : Steps::any;
}

constexpr bool is_dense(Steps steps) { return steps == Steps::dense_plane || steps == Steps::channels; }

// The steps of the inner loop that are known at compile time, and the line for the rest.
template <Steps steps>
[[gnu::always_inline]] inline LineLoop inner_of(const Line& line) {
  return {.count = line.inner.count,
          .step = is_dense(steps) ? 1 : line.inner.step,
          .places_step = steps == Steps::any        ? line.inner.places_step
                         : steps == Steps::channels ? 1
                                                    : 0,
          .base_step = steps == Steps::any ? line.inner.base_step : 0};
}

uint64_t base_of(const Line& line, int64_t row) {
  return line.base + static_cast<uint64_t>(row) * line.outer.base_step;
}

// Calls visit(number of a value in its row, its index less its base).
template <Steps steps, typename Index, typename Visit>
[[gnu::always_inline]] inline void for_each_rest(const Line& line, int64_t row, const Visit& visit) {
  const Index* const indices = reinterpret_cast<const Index*>(line.indices) + row * line.outer.step;
  const LineLoop inner = inner_of<steps>(line);
  const uint64_t base = base_of(line, row);
  for (int64_t i = 0; i < inner.count; ++i)
    visit(i, static_cast<uint64_t>(int64_t{indices[i * inner.step]}) - base -
                 static_cast<uint64_t>(i) * inner.base_step);
}

// One loop where the values of both lie evenly spaced.
void join_loops(Line& line) {
  LineLoop *shorter = &line.inner, *longer = &line.outer;
  if (longer->step < shorter->step) std::swap(shorter, longer);
  if (line.inner.base_step != 0 || line.outer.base_step != 0) return;
  if (longer->count > 1 && longer->step != shorter->count * shorter->step) return;
  line.inner = {.count = line.inner.count * line.outer.count, .step = shorter->step};
  line.outer = {};
}

// Ors the signs of what must not be negative: no branch, so it becomes vector code.
template <Steps steps, typename Index>
[[gnu::always_inline]] inline bool are_inside_of(const Indexing& indexing, const Line& line) {
  const uint64_t last = indexing.last;
  uint64_t outside = 0, between = 0;
  for (int64_t row = 0; row < line.outer.count; ++row) {
    for_each_rest<steps, Index>(line, row, [&](int64_t, uint64_t rest) { outside |= rest | (last - rest); });
    if (indexing.unit == 1) continue;
    const Digit digit = indexing.digits.back();
    for_each_rest<steps, Index>(line, row, [&](int64_t, uint64_t rest) {
      between |= rest > last ? 1 : rest - digit.quotient(rest) * digit.weight;
    });
  }
  return outside >> 63 == 0 && between == 0;
}

// Rests, or of digits the largest ones, below it have a place that is zero or holds an earlier value.
template <IndexForm form>
uint64_t filled(const Indexing& indexing, const Zeros* zeros) {
  if (!zeros) return std::numeric_limits<uint64_t>::max();
  return zeros->done() * (form == IndexForm::scaled ? indexing.unit : 1);
}

template <IndexForm form>
[[gnu::noinline]] uint64_t fill(const Indexing& indexing, Zeros* zeros, uint64_t until) {
  zeros->fill(form == IndexForm::scaled ? until / indexing.unit : until);
  return filled<form>(indexing, zeros);
}

// A value and an element of the places, one of which becomes the other.
template <bool gathers, typename Value>
void move_one(Value& value, Value& place) {
  if constexpr (gathers)
    value = place;
  else
    place = value;
}

template <typename Value, typename Index, IndexForm form, bool gathers, Steps steps>
void move_line(const Indexing& indexing, const Line& line, Zeros* zeros) {
  const Digits& digits = indexing.digits;
  const Indexing::Tap* const taps = indexing.taps.data();
  const LineLoop inner = inner_of<steps>(line);
  uint64_t until = filled<form>(indexing, zeros);
  const auto offset = [&](uint64_t rest) {
    if constexpr (form == IndexForm::listed) return taps[rest].offset;
    uint64_t digit = digits[0].quotient(rest);
    if (digit >= until) [[unlikely]]
      until = fill<form>(indexing, zeros, digit);
    int64_t sum = static_cast<int64_t>(digit) * digits[0].stride;
    for (size_t i = 1; i < digits.size(); ++i) {
      rest -= digit * digits[i - 1].weight;
      digit = digits[i].quotient(rest);
      sum += static_cast<int64_t>(digit) * digits[i].stride;
    }
    return sum;
  };
  for (int64_t row = 0; row < line.outer.count; ++row) {
    Value* const values = reinterpret_cast<Value*>(line.values) + row * line.outer.step;
    Value* const places = reinterpret_cast<Value*>(line.places) + row * line.outer.places_step;
    for_each_rest<steps, Index>(line, row, [&](int64_t i, uint64_t rest) {
      move_one<gathers>(values[i * inner.step], places[i * inner.places_step + offset(rest)]);
    });
  }
}

// Values of a row that are moved by one loop, with nothing else in it.
constexpr int64_t block = 256;

// Fills the places of some values of a row; done: below it an index has a place that is filled.
template <typename IndexOf>
uint64_t fill_ahead(const Indexing& indexing, Zeros* zeros, uint64_t base, uint64_t done, int64_t begin,
                    int64_t end, const IndexOf& index_of) {
  uint64_t beyond = 0;  // the signs of what must not be negative
  for (int64_t i = begin; i < end; ++i) beyond |= done - 1 - index_of(i);
  if (beyond >> 63 == 0) return done;
  uint64_t last = 0;
  for (int64_t i = begin; i < end; ++i) last = std::max(last, index_of(i));
  return fill<IndexForm::scaled>(indexing, zeros, last - base) + base;
}

// The same where offsets are multiples of rests: each block's places are filled first. A factor of 1 is
// known.
template <typename Value, typename Index, bool gathers, Steps steps, bool fills, bool is_one>
void move_scaled(const Indexing& indexing, const Line& line, Zeros* zeros) {
  const int64_t factor = is_one ? 1 : indexing.factor;
  const LineLoop inner = inner_of<steps>(line);
  for (int64_t row = 0; row < line.outer.count; ++row) {
    const uint64_t base = base_of(line, row);
    uint64_t done = fills ? filled<IndexForm::scaled>(indexing, zeros) + base : 0;
    Value* const values = reinterpret_cast<Value*>(line.values) + row * line.outer.step;
    const Index* const indices = reinterpret_cast<const Index*>(line.indices) + row * line.outer.step;
    Value* places = reinterpret_cast<Value*>(line.places) + row * line.outer.places_step -
                    static_cast<int64_t>(base) * factor;
    asm("" : "+r"(places));  // gcc would take the base off each index instead
    const auto index_of = [&](int64_t i) {
      return static_cast<uint64_t>(int64_t{indices[i * inner.step]}) -
             static_cast<uint64_t>(i) * inner.base_step;
    };
    for (int64_t begin = 0; begin < inner.count; begin += fills ? block : inner.count) {
      const int64_t end = fills ? std::min(begin + block, inner.count) : inner.count;
      if constexpr (fills) done = fill_ahead(indexing, zeros, base, done, begin, end, index_of);
#pragma GCC unroll 8
      for (int64_t i = begin; i < end; ++i)
        move_one<gathers>(values[i * inner.step],
                          places[i * inner.places_step + static_cast<int64_t>(index_of(i)) * factor]);
    }
  }
}

template <typename Value, typename Index, bool gathers, Steps steps, bool fills>
void move_scaled(const Indexing& indexing, const Line& line, Zeros* zeros) {
  if (indexing.factor == 1)
    return move_scaled<Value, Index, gathers, steps, fills, true>(indexing, line, zeros);
  move_scaled<Value, Index, gathers, steps, fills, false>(indexing, line, zeros);
}

// The function of a line's steps.
template <typename Value, typename Index, IndexForm form, bool gathers>
void move_by_steps(const Indexing& indexing, const Line& line, Zeros* zeros) {
  const auto move = [&]<Steps steps>() {
    if constexpr (form != IndexForm::scaled)
      return move_line<Value, Index, form, gathers, steps>(indexing, line, zeros);
    if constexpr (form == IndexForm::scaled && !gathers)
      if (zeros) return move_scaled<Value, Index, gathers, steps, true>(indexing, line, zeros);
    if constexpr (form == IndexForm::scaled)
      return move_scaled<Value, Index, gathers, steps, false>(indexing, line, zeros);
  };
  switch (steps_of(line)) {
    case Steps::dense_plane:
      return move.template operator()<Steps::dense_plane>();
    case Steps::plane:
      return move.template operator()<Steps::plane>();
    case Steps::channels:
      return move.template operator()<Steps::channels>();
    case Steps::any:
      return move.template operator()<Steps::any>();
  }
}

template <typename Index>
[[gnu::always_inline]] inline bool are_inside_by_steps(const Indexing& indexing, Line line) {
  join_loops(line);
  if (!is_dense(steps_of(line))) return are_inside_of<Steps::any, Index>(indexing, line);
  return are_inside_of<Steps::dense_plane, Index>(indexing, line);
}

// The same code for three instruction sets.
template <typename Index>
bool are_inside_plainly(const Indexing& indexing, const Line& line) {
  return are_inside_by_steps<Index>(indexing, line);
}
template <typename Index>
[[gnu::target("avx2")]] bool are_inside_avx2(const Indexing& indexing, const Line& line) {
  return are_inside_by_steps<Index>(indexing, line);
}

// gcc would take vectors of 32 bytes.
#ifdef __clang__
#define POOLJIT_AVX512 "avx512f,avx512bw,avx512dq"
#else
#define POOLJIT_AVX512 "avx512f,avx512bw,avx512dq,prefer-vector-width=512"
#endif
template <typename Index>
[[gnu::target(POOLJIT_AVX512)]] bool are_inside_avx512(const Indexing& indexing, const Line& line) {
  return are_inside_by_steps<Index>(indexing, line);
}
#undef POOLJIT_AVX512

template <typename Value, typename Index, bool gathers>
MoveLine move_in(IndexForm form) {
  if (form == IndexForm::listed) return move_by_steps<Value, Index, IndexForm::listed, gathers>;
  if (form == IndexForm::digits) return move_by_steps<Value, Index, IndexForm::digits, gathers>;
  return move_by_steps<Value, Index, IndexForm::scaled, gathers>;
}

template <typename Value, typename Index>
MoveLine move_of(IndexForm form, bool gathers) {
  return gathers ? move_in<Value, Index, true>(form) : move_in<Value, Index, false>(form);
}

}  // namespace

AreInside are_inside(ir::DType index_dtype) {
  return ir::with_index_type(index_dtype, []<typename Index>(Index) -> AreInside {
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
      return are_inside_avx512<Index>;
    return __builtin_cpu_supports("avx2") ? are_inside_avx2<Index> : are_inside_plainly<Index>;
  });
}

MoveLine move(int64_t value_width, ir::DType index_dtype, IndexForm form, bool gathers) {
  return ir::with_index_type(index_dtype, [&]<typename Index>(Index) -> MoveLine {
    if (value_width == 1) return move_of<uint8_t, Index>(form, gathers);
    if (value_width == 2) return move_of<uint16_t, Index>(form, gathers);
    if (value_width == 4) return move_of<uint32_t, Index>(form, gathers);
    return move_of<uint64_t, Index>(form, gathers);
  });
}

}  // namespace pooljit::runtime
