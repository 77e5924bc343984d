// row_passes(scan=rolling_sums): sums and averages of 8-bit integers over large windows. Integer sums are
// exact, so they may roll: a row of outputs is made from the one above. Scratch memory has, for each
// column, the sum over a row of windows, in 16 bits. For the next row of outputs the entering rows are
// added and the leaving rows subtracted, so the height of the kernel does not matter. The windows of a row
// are then made from the column sums by passes (ColumnPasses), the longest of which still fit into 16
// bits.
#pragma once

#include "ir/schedules/families/row_passes_segments.h"

namespace pooljit::ir {

// rows: as in row_passes_rules.h.
bool can_roll_sums(const PoolNest& rows, const RowPassesSchedule& schedule, const ReductionFacts& facts);

// segment: the whole row.
void emit_rolling_sums(const PoolNest& rows, const RowPassesSchedule& schedule, const RowSegment& segment,
                       Builder& builder, Reducer& reducer);

}  // namespace pooljit::ir
