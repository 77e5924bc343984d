// Lines: the inner loops of an unpool. A line is rows of values at even distances, with the indices beside
// them: of one plane, or of neighbouring channels, whose planes lie evenly spaced. Its two loops are one over
// windows and one over channels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/dtype.h"
#include "runtime/unpool/indexing.h"
#include "runtime/unpool/zeros.h"

namespace pooljit::runtime {

// Steps in elements; indices lie as the values do.
struct LineLoop {
  int64_t count = 1, step = 0;
  int64_t places_step = 0;  // of what offsets are counted from
  uint64_t base_step = 0;   // of indices
};
struct Line {
  std::byte* values;
  const std::byte* indices;
  std::byte* places;  // what offsets are counted from, for the first value
  uint64_t base;      // of the first value's index
  LineLoop outer, inner;
};

// Whether all indices of a line name a place: of the plane, or, counted in the window, a tap.
using AreInside = bool (*)(const Indexing& indexing, const Line& line);
AreInside are_inside(ir::DType index_dtype);

// Puts the values of a line at their places, in order, or with `gathers` gives each the element of its place.
// All indices must name a place. zeros: filled ahead of each value; null where that is done, or not needed.
using MoveLine = void (*)(const Indexing& indexing, const Line& line, Zeros* zeros);
MoveLine move(int64_t value_width, ir::DType index_dtype, IndexForm form, bool gathers);

}  // namespace pooljit::runtime
