#include "ir/schedules/lanes/single_windows.h"

namespace pooljit::ir {

std::optional<PoolNest> with_single_windows(const PoolNest& nest) {
  if (!nest.is_backward() || nest.has_any_size()) return std::nullopt;
  std::optional<PoolNest> found;
  for (size_t d = 0; d < nest.dims.size(); ++d) {
    const NestDim& dim = nest.dims[d];
    const int64_t reach = dim.dilation * (dim.kernel - 1) + 1;
    if (dim.kind != DimKind::gather || dim.input != 1 || dim.stride >= reach) continue;
    if (!found) found = nest;
    found->dims[d].stride = reach;
  }
  return found;
}

}  // namespace pooljit::ir
