// The functions that channels_first and interleaved share in their FamilyInfo: rows of one channel in tiles
// of neighbouring outputs (ir/schedules/lowering/row_code.h).
#pragma once

#include "ir/schedules/family.h"

namespace pooljit::ir {

inline constexpr LaneUse row_lanes = LaneUse::moved;

// As FamilyInfo declares them.
Result<void> suits_rows(const Layer& layer);
Result<void> check_rows(const Layer& layer, const Schedule& schedule);
Result<Program> lower_rows(const Layer& layer, const Schedule& schedule);

}  // namespace pooljit::ir
