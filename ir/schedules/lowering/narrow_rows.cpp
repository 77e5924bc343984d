#include "ir/schedules/lowering/narrow_rows.h"

#include <algorithm>

#include "ir/schedules/lowering/plane_lines.h"
#include "ir/schedules/windows/divisors.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {
namespace {

// From the first column of a row's first window to the last of its last one.
int64_t columns_seen(const NestDim& columns, int64_t outputs) {
  return (outputs - 1) * columns.stride + columns.dilation * (columns.kernel - 1) + 1;
}

// Masks are found for all rows of all planes; divisors that differ from column to column are not.
bool suits_strided(const PoolNest& sized) {
  const NestDim& columns = sized.dims.back();
  if (sized.dims.size() != 2 || columns.kind != DimKind::pool || columns.pixel > 1) return false;
  if (!sized.divides_by_taps()) return true;
  const std::vector<Run> all = runs(columns);
  return std::ranges::all_of(
      all, [&](const Run& run) { return divisor_taps(sized, run.window) == columns.kernel; });
}

}  // namespace

bool NarrowRows::has_code(const PoolNest& general, const RowSchedule& schedule) {
  if (!RowRules::columns_adjacent(general)) return false;
  return PlaneLines::has_code(general, schedule) || has_strided_code(general, schedule);
}

bool NarrowRows::has_strided_code(const PoolNest& general, const RowSchedule& schedule) {
  // Of strided rows of pixels there are usual tiles only.
  if (general.dims.size() != 2 || general.is_backward() || !RowRules::columns_adjacent(general) ||
      general.dims.back().stride == 1 || general.dims.back().pixel > 1)
    return false;
  const NestDim& down = general.dims.front();
  return schedule.scan == RowSchedule::Scan::rows_first && schedule.tail == Tail::mask &&
         down.dilation == 1 && !is_long(down) && columns_seen(general.dims.back(), 1) <= schedule.lanes;
}

bool NarrowRows::suits(const PoolNest& sized) {
  return sized.dims.back().stride == 1 ? PlaneLines::suits(sized) : suits_strided(sized);
}

int NarrowRows::count(const NestDim& columns, int lanes) {
  if (columns.stride == 1) return static_cast<int>(PlaneLines::count(columns, lanes));
  if (columns.output > lanes || columns.pixel > 1) return 0;
  const int64_t vectors = ceil_div(columns_seen(columns, columns.output), lanes);
  return vectors <= most_vectors ? static_cast<int>(vectors) : 0;
}

int64_t NarrowRows::parts(const NestDim& columns, int lanes) {
  return columns.stride == 1 ? PlaneLines::parts(columns, lanes) : 0;
}

bool NarrowRows::take(const PoolNest& sized, const RowSchedule& schedule, Isa isa) {
  if (sized.dims.back().stride == 1) return PlaneLines::take(sized, schedule, isa);
  return has_strided_code(sized, schedule) && vectors(sized, schedule.lanes) > 0;
}

Tile NarrowRows::tile(const NestDim& columns, int lanes, int vectors) {
  const int64_t outputs = (vectors * lanes - columns_seen(columns, 1)) / columns.stride + 1;
  return {0, lanes, std::min<int64_t>(outputs, lanes), false};
}

}  // namespace pooljit::ir
