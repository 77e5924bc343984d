#include "runtime/unpool/lines.h"

#include <algorithm>
#include <limits>

#include "ir/offsets.h"

namespace pooljit::runtime {
namespace {

// How far it is from one value of a row to the next, its index and what its offset is counted from: of a
// plane without gaps, of channels without gaps, or what the line says. Known distances make short loops.
enum class Steps { plane, channels, any };

Steps steps_of(const Line& line) {
  if (line.step != 1 || line.base_step != 0) return Steps::any;
  return line.places_step == 0 ? Steps::plane : line.places_step == 1 ? Steps::channels : Steps::any;
}

uint64_t base_of(const Line& line, int64_t row) {
  return line.base + static_cast<uint64_t>(row) * line.row_base_step;
}

// Calls visit(number of a value in its row, its index less its base).
template <Steps steps, typename Index, typename Visit>
[[gnu::always_inline]] inline void for_each_rest(const Line& line, int64_t row, const Visit& visit) {
  const Index* const indices = reinterpret_cast<const Index*>(line.indices) + row * line.row_step;
  const int64_t step = steps == Steps::any ? line.step : 1;
  const uint64_t base_step = steps == Steps::any ? line.base_step : 0;
  const uint64_t base = base_of(line, row);
  for (int64_t i = 0; i < line.count; ++i)
    visit(i, static_cast<uint64_t>(int64_t{indices[i * step]}) - base - static_cast<uint64_t>(i) * base_step);
}

// Ors the signs of what must not be negative: no branch, so it becomes vector code.
template <Steps steps, typename Index>
[[gnu::always_inline]] inline bool are_inside_of(const Indexing& indexing, const Line& line) {
  const uint64_t last = indexing.last;
  uint64_t outside = 0, between = 0;
  for (int64_t row = 0; row < line.rows; ++row) {
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
  const int64_t step = steps == Steps::any ? line.step : 1;
  const int64_t places_step = steps == Steps::any ? line.places_step : steps == Steps::channels ? 1 : 0;
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
  for (int64_t row = 0; row < line.rows; ++row) {
    Value* const values = reinterpret_cast<Value*>(line.values) + row * line.row_step;
    Value* const places = reinterpret_cast<Value*>(line.places) + row * line.row_places_step;
    for_each_rest<steps, Index>(line, row, [&](int64_t i, uint64_t rest) {
      move_one<gathers>(values[i * step], places[i * places_step + offset(rest)]);
    });
  }
}

// Values of a row that are moved by one loop, with nothing else in it.
constexpr int64_t block = 256;

// The same where offsets are multiples of rests: each block's places are filled first.
template <typename Value, typename Index, bool gathers, Steps steps, bool fills>
void move_scaled(const Indexing& indexing, const Line& line, Zeros* zeros) {
  const int64_t factor = indexing.factor;
  const int64_t step = steps == Steps::any ? line.step : 1;
  const int64_t places_step = steps == Steps::any ? line.places_step : steps == Steps::channels ? 1 : 0;
  const uint64_t base_step = steps == Steps::any ? line.base_step : 0;
  for (int64_t row = 0; row < line.rows; ++row) {
    const uint64_t base = base_of(line, row);
    uint64_t until = filled<IndexForm::scaled>(indexing, zeros) + (fills ? base : 0);
    Value* const values = reinterpret_cast<Value*>(line.values) + row * line.row_step;
    const Index* const indices = reinterpret_cast<const Index*>(line.indices) + row * line.row_step;
    Value* const places = reinterpret_cast<Value*>(line.places) + row * line.row_places_step -
                          static_cast<int64_t>(base) * factor;
    const auto index_of = [&](int64_t i) {
      return static_cast<uint64_t>(int64_t{indices[i * step]}) - static_cast<uint64_t>(i) * base_step;
    };
    for (int64_t begin = 0; begin < line.count; begin += block) {
      const int64_t end = std::min(begin + block, line.count);
      if constexpr (fills) {
        uint64_t beyond = 0;  // the signs of what must not be negative
        for (int64_t i = begin; i < end; ++i) beyond |= until - 1 - index_of(i);
        if (beyond >> 63 != 0) {
          uint64_t last = 0;
          for (int64_t i = begin; i < end; ++i) last = std::max(last, index_of(i));
          until = fill<IndexForm::scaled>(indexing, zeros, last - base) + base;
        }
      }
#pragma GCC unroll 8
      for (int64_t i = begin; i < end; ++i)
        move_one<gathers>(values[i * step],
                          places[i * places_step + static_cast<int64_t>(index_of(i)) * factor]);
    }
  }
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
  if (line.base_step == 0 && line.row_base_step == 0 && line.row_step == line.count * line.step)
    line.count *= line.rows, line.rows = 1;
  if (steps_of(line) == Steps::any) return are_inside_of<Steps::any, Index>(indexing, line);
  return are_inside_of<Steps::plane, Index>(indexing, line);
}

// The same code for two instruction sets.
template <typename Index>
bool are_inside_plainly(const Indexing& indexing, const Line& line) {
  return are_inside_by_steps<Index>(indexing, line);
}
template <typename Index>
[[gnu::target("avx2")]] bool are_inside_avx2(const Indexing& indexing, const Line& line) {
  return are_inside_by_steps<Index>(indexing, line);
}

template <typename Value, typename Index, bool gathers>
Move move_in(IndexForm form) {
  if (form == IndexForm::listed) return move_by_steps<Value, Index, IndexForm::listed, gathers>;
  if (form == IndexForm::digits) return move_by_steps<Value, Index, IndexForm::digits, gathers>;
  return move_by_steps<Value, Index, IndexForm::scaled, gathers>;
}

template <typename Value, typename Index>
Move move_of(IndexForm form, bool gathers) {
  return gathers ? move_in<Value, Index, true>(form) : move_in<Value, Index, false>(form);
}

}  // namespace

AreInside are_inside(ir::DType index_dtype) {
  return ir::with_index_type(index_dtype, []<typename Index>(Index) -> AreInside {
    return __builtin_cpu_supports("avx2") ? are_inside_avx2<Index> : are_inside_plainly<Index>;
  });
}

Move move(int64_t value_width, ir::DType index_dtype, IndexForm form, bool gathers) {
  return ir::with_index_type(index_dtype, [&]<typename Index>(Index) -> Move {
    if (value_width == 1) return move_of<uint8_t, Index>(form, gathers);
    if (value_width == 2) return move_of<uint16_t, Index>(form, gathers);
    if (value_width == 4) return move_of<uint32_t, Index>(form, gathers);
    return move_of<uint64_t, Index>(form, gathers);
  });
}

}  // namespace pooljit::runtime
