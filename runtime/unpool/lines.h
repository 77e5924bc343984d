// Lines: the inner loops of an unpool. A line is rows of values at even distances, with the indices beside
// them: of one plane, or of neighbouring channels, whose planes lie evenly spaced.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/dtype.h"
#include "runtime/unpool/indexing.h"
#include "runtime/unpool/zeros.h"

namespace pooljit::runtime {

// Steps in elements; indices lie as the values do.
struct Line {
  std::byte* values;
  const std::byte* indices;
  std::byte* places;  // what offsets are counted from, for the first value
  int64_t rows = 1, row_step = 0, row_places_step = 0;
  int64_t count, step, places_step;
  uint64_t base, row_base_step = 0, base_step;  // of indices
};

// Whether all indices of a line name a place: of the plane, or, counted in the window, a tap.
using AreInside = bool (*)(const Indexing& indexing, const Line& line);
AreInside are_inside(ir::DType index_dtype);

// Puts the values of a line at their places, in order, or with `gathers` gives each the element of its place.
// All indices must name a place. zeros: filled ahead of each value; null where that is done, or not needed.
using Move = void (*)(const Indexing& indexing, const Line& line, Zeros* zeros);
Move move(int64_t value_width, ir::DType index_dtype, IndexForm form, bool gathers);

}  // namespace pooljit::runtime
