#include "ir/schedules/families/row_passes_rules.h"

#include <algorithm>

#include "ir/schedules/lanes/pixel_rows.h"
#include "ir/schedules/lowering/row_rules.h"
#include "ir/schedules/windows/shared_rows.h"
#include "ir/schedules/windows/trailing_windows.h"

namespace pooljit::ir {
namespace {

bool have_passes(const NestDim& row) {
  return row.kind == DimKind::pool && row.stride == 1 && row.kernel > 1;
}

}  // namespace

PoolNest as_rows(const PoolNest& nest) { return has_pixel_rows(nest) ? as_one_channel(nest) : nest; }

bool can_take_rows(const PoolNest& rows, const ReductionFacts& facts) {
  return have_passes(rows.dims.back()) && !rows.indices && !rows.is_backward() && facts.any_order &&
         RowRules::columns_adjacent(rows);
}

bool can_group_rows(const PoolNest& rows, int group) {
  return group == 1 || (rows.dims.size() > 1 && can_share_rows(rows.dims[rows.dims.size() - 2], group));
}

int64_t row_passes_registers(const PoolNest& rows, const RowPassesSchedule& schedule,
                             const ReductionFacts& facts) {
  constexpr int64_t beside_rows = 7, beside_held = 4;
  int64_t needed = schedule.rows_together + beside_rows;
  if (schedule.scan == RowPassesSchedule::Scan::trailing) {  // what is held, before and after a vector
    const auto held = static_cast<int64_t>(TrailingWindows(rows.dims.back(), schedule.lanes).held());
    needed = std::max(needed, 2 * held + beside_held + (schedule.rows_together > 1 ? 1 : 0));
  }
  return needed + extra_registers(rows, facts);
}

}  // namespace pooljit::ir
