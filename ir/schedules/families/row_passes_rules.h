// What row_passes can do (ir/schedules/families/row_passes.cpp is the code itself).
#pragma once

#include <vector>

#include "ir/reductions/reducer.h"
#include "ir/schedule.h"
#include "ir/schedules/family.h"

namespace pooljit::ir {

inline constexpr LaneUse row_passes_lanes = LaneUse::moved;

// A schedule of row_passes by its own names.
struct RowPassesSchedule {
  // How the windows of a row come from its columns: ColumnPasses, TrailingWindows, or ColumnPasses over
  // columns that are sums which roll down the image.
  enum class Scan : uint8_t { passes, trailing, rolling_sums };

  explicit RowPassesSchedule(const Schedule& schedule);

  int lanes;
  Scan scan;
  int rows_together;  // rows of outputs
  Tail tail;
};

// What the family walks over: rows of pixels are rows of one channel.
PoolNest as_rows(const PoolNest& nest);

// Each of `rows`, as above: whether the layer suits the family, its windows can share what they have in
// common (scan=trailing), so many rows can be done together, and the registers hold these.
bool can_take_rows(const PoolNest& rows, const ReductionFacts& facts);
bool can_roll_along(const PoolNest& rows, const RowPassesSchedule& schedule, Isa isa,
                    const ReductionFacts& facts);
bool can_group_rows(const PoolNest& rows, int group);
bool holds_rows(const PoolNest& rows, const RowPassesSchedule& schedule, Isa isa,
                const ReductionFacts& facts);

}  // namespace pooljit::ir
