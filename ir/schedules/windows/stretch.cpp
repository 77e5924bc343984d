#include "ir/schedules/windows/stretch.h"

#include <algorithm>

namespace pooljit::ir {

Stretch stretch_of(const NestDim& dim, int64_t begin, int64_t outputs) {
  const int64_t from = begin - dim.pad_begin, to = from + outputs + (dim.kernel - 1) * dim.dilation;
  Stretch found;
  found.first = std::clamp<int64_t>(from, 0, dim.visible_input());
  const int64_t end = std::clamp<int64_t>(to, found.first, dim.visible_input());
  found.inside = end - found.first;
  found.before = std::min(std::max<int64_t>(-from, 0), to - from);
  found.behind = to - from - found.before - found.inside;
  return found;
}

}  // namespace pooljit::ir
