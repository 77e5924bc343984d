#include "runtime/unpool/lines.h"

#include <algorithm>
#include <limits>

#include "ir/offsets.h"

namespace pooljit::runtime {
namespace {

// Ors the signs of what must not be negative: no branch, so it becomes vector code.
template <typename Index>
bool are_inside_of(const Indexing& indexing, const Line& line) {
  const uint64_t last = indexing.last;
  uint64_t outside = 0;
  for (int64_t row = 0; row < line.rows; ++row) {
    const Index* const indices = reinterpret_cast<const Index*>(line.indices) + row * line.row_step;
    const auto look = [&](int64_t step, uint64_t base_step) {
      for (int64_t i = 0; i < line.count; ++i) {
        const uint64_t index = static_cast<uint64_t>(int64_t{indices[i * step]});
        const uint64_t rest = index - line.base - static_cast<uint64_t>(i) * base_step;
        outside |= rest | (last - rest);
      }
    };
    if (line.step == 1 && line.base_step == 0)
      look(1, 0);
    else
      look(line.step, line.base_step);
    if (indexing.unit == 1) continue;
    const Digit& digit = indexing.digits.back();
    uint64_t between = 0;
    for (int64_t i = 0; i < line.count; ++i) {
      const uint64_t index = static_cast<uint64_t>(int64_t{indices[i * line.step]});
      const uint64_t rest = std::min(index - line.base - static_cast<uint64_t>(i) * line.base_step, last);
      between |= rest - digit.quotient(rest) * digit.weight;
    }
    if (between != 0) return false;
  }
  return outside >> 63 == 0;
}

// Where rests lead to, in elements.
template <IndexForm form>
class Places {
 public:
  Places(const Indexing& indexing, Zeros* zeros) : indexing_(indexing), zeros_(zeros) { see_zeros(); }

  // The place is zero then, or holds an earlier value.
  int64_t offset(uint64_t rest) {
    if constexpr (form == IndexForm::listed) return indexing_.taps[rest].offset;
    if constexpr (form == IndexForm::scaled) {
      if (rest >= filled_) [[unlikely]]
        fill(rest / indexing_.unit);
      return static_cast<int64_t>(rest) * indexing_.factor;
    }
    const Digits& digits = indexing_.digits;
    uint64_t digit = digits[0].quotient(rest);
    if (digit >= filled_) [[unlikely]]
      fill(digit);
    int64_t sum = static_cast<int64_t>(digit) * digits[0].stride;
    for (size_t i = 1; i < digits.size(); ++i) {
      rest -= digit * digits[i - 1].weight;
      digit = digits[i].quotient(rest);
      sum += static_cast<int64_t>(digit) * digits[i].stride;
    }
    return sum;
  }

 private:
  void fill(uint64_t digit) {
    zeros_->fill(digit);
    see_zeros();
  }
  void see_zeros() {
    constexpr bool counts_rests = form == IndexForm::scaled;
    if (zeros_) filled_ = zeros_->done() * (counts_rests ? indexing_.unit : 1);
  }

  const Indexing& indexing_;
  Zeros* const zeros_;
  uint64_t filled_ = std::numeric_limits<uint64_t>::max();  // rests, or largest digits, below it
};

template <typename Value, typename Index, IndexForm form, bool gathers>
void move_line(const Indexing& indexing, const Line& line, Zeros* zeros) {
  Places<form> places(indexing, zeros);
  for (int64_t row = 0; row < line.rows; ++row) {
    Value* values = reinterpret_cast<Value*>(line.values) + row * line.row_step;
    const Index* indices = reinterpret_cast<const Index*>(line.indices) + row * line.row_step;
    Value* from = reinterpret_cast<Value*>(line.places) + row * line.row_places_step;
    uint64_t base = line.base;
    for (int64_t i = 0; i < line.count; ++i) {
      Value& place = from[places.offset(static_cast<uint64_t>(int64_t{*indices}) - base)];
      if constexpr (gathers)
        *values = place;
      else
        place = *values;
      values += line.step, indices += line.step, from += line.places_step, base += line.base_step;
    }
  }
}

template <typename Value, typename Index, bool gathers>
Move move_in(IndexForm form) {
  if (form == IndexForm::listed) return move_line<Value, Index, IndexForm::listed, gathers>;
  if (form == IndexForm::digits) return move_line<Value, Index, IndexForm::digits, gathers>;
  return move_line<Value, Index, IndexForm::scaled, gathers>;
}

template <typename Value, typename Index>
Move move_of(IndexForm form, bool gathers) {
  return gathers ? move_in<Value, Index, true>(form) : move_in<Value, Index, false>(form);
}

}  // namespace

AreInside are_inside(ir::DType index_dtype) {
  return ir::with_index_type(index_dtype,
                             []<typename Index>(Index) -> AreInside { return are_inside_of<Index>; });
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
