// row_passes(scan=rolling_sums): sums and averages of 8-bit integers over large windows. Their sums
// are exact, so they may roll. The sum of each column over a row of windows is in scratch memory, in 16 bits.
// For the next row of outputs the rows that enter the window are added to it and those that leave are
// subtracted, whatever the height of the kernel. The windows of a row are then made from its columns by
// passes (ColumnPasses), the longest of which still fit into 16 bits.
#pragma once

#include "ir/schedules/families/row_passes_segments.h"

namespace pooljit::ir {

// rows: as in row_passes_rules.h.
bool can_roll_sums(const PoolNest& rows, const RowPassesSchedule& schedule, const ReductionFacts& facts);

// segment: the whole row.
void emit_rolling_sums(const PoolNest& rows, const RowPassesSchedule& schedule, const RowSegment& segment,
                       Builder& builder, Reducer& reducer);

}  // namespace pooljit::ir
