#include "ir/schedules/families/row_passes_rules.h"

#include "ir/schedules/lanes/pixel_rows.h"
#include "ir/schedules/lowering/row_rules.h"
#include "ir/schedules/windows/shared_rows.h"
#include "ir/schedules/windows/trailing_windows.h"

namespace pooljit::ir {
namespace {

// Vectors that are needed at once beside one for each row.
constexpr int spare_row_registers = 7;
// The same beside what is held, before and after a vector.
constexpr int rolling_registers = 4;

bool have_passes(const NestDim& row) {
  return row.kind == DimKind::pool && row.stride == 1 && row.kernel > 1;
}

}  // namespace

PoolNest as_rows(const PoolNest& nest) { return has_pixel_rows(nest) ? as_one_channel(nest) : nest; }

bool can_take_rows(const PoolNest& rows, const ReductionFacts& facts) {
  return have_passes(rows.dims.back()) && !rows.indices && !rows.is_backward() && facts.any_order &&
         RowRules::columns_adjacent(rows);
}

bool can_roll_along(const PoolNest& rows, const RowPassesSchedule& schedule, Isa isa,
                    const ReductionFacts& facts) {
  const auto held = static_cast<int64_t>(TrailingWindows(rows.dims.back(), schedule.lanes).held());
  return facts.is_idempotent &&
         2 * held + rolling_registers + extra_registers(rows, facts) <= info(isa).vector_registers;
}

bool can_group_rows(const PoolNest& rows, int group) {
  return group == 1 || (rows.dims.size() > 1 && can_share_rows(rows.dims[rows.dims.size() - 2], group));
}

bool holds_rows(const PoolNest& rows, const RowPassesSchedule& schedule, Isa isa,
                const ReductionFacts& facts) {
  return schedule.rows_together + spare_row_registers + extra_registers(rows, facts) <=
         info(isa).vector_registers;
}

}  // namespace pooljit::ir
