#include "ir/schedules/windows/shared_rows.h"

#include "ir/schedules/windows/sum_block.h"

namespace pooljit::ir {

bool can_share_rows(const NestDim& rows, int64_t group) {
  if (rows.kind != DimKind::pool || rows.dilation != 1 || is_long(rows)) return false;
  const Interior inside = interior(rows);
  return (group - 1) * rows.stride < rows.kernel && inside.begin + 2 * group - 1 <= inside.end;
}

}  // namespace pooljit::ir
