// Row strips: neighbouring outputs of a row (stride 1) that are done in one go through scratch memory, as
// rows of their own.
#pragma once

#include <vector>

#include "ir/reductions/reducer.h"
#include "ir/schedule.h"
#include "ir/schedules/column_passes.h"
#include "ir/schedules/row_tiles.h"
#include "ir/schedules/stretch.h"

namespace pooljit::ir {

struct RowStrip {
  // nest: the strip's outputs, and the columns that they see.
  RowStrip(PoolNest nest, const Schedule& schedule, const Reducer& reducer);

  PoolNest nest;
  Stretch columns;  // of the nest's row
  std::vector<TileLoop> tiles;
  ColumnPasses passes;
  int64_t pitch;  // positions from line to line in scratch memory
  // Where it begins in the whole row, and how many like it follow each other.
  int64_t output = 0, input = 0, count = 1;
};

// The whole row, or as much at a time as scratch memory holds for schedule.unroll rows; none where that is
// not worth it.
std::vector<RowStrip> cut_strips(const PoolNest& rows, const Schedule& schedule, const Reducer& reducer);

// True if the straight-line code of a row has its bounds.
bool are_short(const std::vector<RowStrip>& strips);

// True if the vectors of each strip's columns are whole ones.
bool hold_vectors(const std::vector<RowStrip>& strips, const Schedule& schedule);

}  // namespace pooljit::ir
