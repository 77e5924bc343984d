// NarrowRows: code for all sizes for planes whose rows fill only one or two vectors, where the set-up of a
// plane would cost more than its outputs. Masks and divisors of the columns are computed once for all
// planes. Dense columns go by lines (ir/schedules/lowering/plane_lines.h). Strided ones go row by row
// (RowCode::emit_narrow): the outputs of a row are one tile, its columns one vector or two.
#pragma once

#include "ir/nest.h"
#include "ir/schedules/lowering/row_rules.h"

namespace pooljit::ir {

class NarrowRows {
 public:
  static constexpr int most_vectors = 2;
  // True if code for all sizes has narrow rows beside the usual tiles. The words of a size say which of them
  // it uses.
  static bool has_code(const PoolNest& general, const RowSchedule& schedule);
  // True if these are rows of strided columns.
  static bool has_strided_code(const PoolNest& general, const RowSchedule& schedule);
  // A layer at a size: whether its rows may be narrow ones, and the number of vectors of `lanes` lanes that
  // hold the columns of a row that windows read: 1 or 2; 0: more.
  static bool suits(const PoolNest& sized);
  static int count(const NestDim& columns, int lanes);
  // Of dense columns, in how many parts longer rows go by lines (PlaneLines::parts()); 0: in none.
  static int64_t parts(const NestDim& columns, int lanes);
  // Both of these: 0 if the layer uses usual tiles at the size.
  static int vectors(const PoolNest& sized, int lanes) {
    return suits(sized) ? count(sized.dims.back(), lanes) : 0;
  }
  // Whether code of this schedule uses narrow rows at the size, by all these rules.
  static bool take(const PoolNest& sized, const RowSchedule& schedule, Isa isa);
  // The outputs of a row of strided columns whose columns fit into so many vectors: at most one vector.
  static Tile tile(const NestDim& columns, int lanes, int vectors);
};

}  // namespace pooljit::ir
