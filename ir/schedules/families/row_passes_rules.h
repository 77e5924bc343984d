// The layers that row_passes can do (the code itself is ir/schedules/families/row_passes.cpp).
#pragma once

#include <vector>

#include "ir/reductions/reducer.h"
#include "ir/schedule.h"
#include "ir/schedules/family.h"

namespace pooljit::ir {

inline constexpr LaneUse row_passes_lanes = LaneUse::moved;

using RowPassesSchedule = ScheduleOf<RowPassesFields>;

// The nest that the family walks: rows of pixels are rows of one channel.
PoolNest as_rows(const PoolNest& nest);

// Each takes `rows` from as_rows(). Whether the layer suits the family; so many rows can be done together.
bool can_take_rows(const PoolNest& rows, const ReductionFacts& facts);
bool can_group_rows(const PoolNest& rows, int group);
// FamilyInfo::registers, of windows however large.
int64_t row_passes_registers(const PoolNest& rows, const RowPassesSchedule& schedule,
                             const ReductionFacts& facts);

}  // namespace pooljit::ir
