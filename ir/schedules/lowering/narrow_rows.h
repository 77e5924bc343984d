// NarrowRows: which planes code for all sizes takes as rows that fill few vectors, where what begins and ends
// with a plane costs more than its outputs. What the columns of a row have to know is found once for all
// planes. Dense columns go by lines (ir/schedules/lowering/plane_lines.h). Strided ones go row by row
// (RowCode::emit_narrow): a row's outputs are one tile, and its columns one vector or two.
#pragma once

#include "ir/nest.h"
#include "ir/schedules/lowering/row_rules.h"

namespace pooljit::ir {

class NarrowRows {
 public:
  static constexpr int most_vectors = 2;
  // True if code for all sizes has narrow rows, beside the usual tiles; which of them a size takes is in its
  // words.
  static bool has_code(const PoolNest& general, const RowSchedule& schedule);
  // ... as rows of strided columns.
  static bool has_strided_code(const PoolNest& general, const RowSchedule& schedule);
  // A layer at a size: whether its rows may be narrow ones, and how many vectors of so many lanes hold the
  // columns that the windows of a row see: 1 or 2; 0: more.
  static bool suits(const PoolNest& sized);
  static int count(const NestDim& columns, int lanes);
  // Of dense columns, in how many parts longer rows go by lines (PlaneLines::parts()); 0: in none.
  static int64_t parts(const NestDim& columns, int lanes);
  // Both: 0 where the layer has usual tiles at the size.
  static int vectors(const PoolNest& sized, int lanes) {
    return suits(sized) ? count(sized.dims.back(), lanes) : 0;
  }
  // All in all: whether code of this schedule takes narrow rows at the size.
  static bool take(const PoolNest& sized, const RowSchedule& schedule, Isa isa);
  // The outputs of a row of strided columns that so many vectors hold, at most those of one vector.
  static Tile tile(const NestDim& columns, int lanes, int vectors);
};

}  // namespace pooljit::ir
