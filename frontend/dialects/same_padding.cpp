#include "frontend/dialects/same_padding.h"

#include <algorithm>

#include "frontend/geometry.h"

namespace pooljit::frontend {

void pad_same(SpecDim& dim, OddPad odd) {
  if (dim.input < 1 || dim.stride < 1) return;
  const int64_t outputs = (dim.input - 1) / dim.stride + 1;
  const Checked extent = Checked(dim.dilation) * (Checked(dim.kernel) - 1) + 1;
  const auto needed = (Checked(outputs - 1) * dim.stride + extent - dim.input).value();
  if (!needed) return;
  const int64_t total = std::max(*needed, int64_t{0});
  dim.pad_begin = odd == OddPad::end ? total / 2 : total - total / 2;
  dim.pad_end = total - dim.pad_begin;
}

}  // namespace pooljit::frontend
