#include "ir/schedules/lanes/sum_gradient.h"

#include <algorithm>

namespace pooljit::ir {
namespace {

// Position p takes the gradients p + pad - dilation * (kernel - 1) .. p + pad.
int64_t pad_begin_of(const NestDim& gather) {
  return gather.dilation * (gather.kernel - 1) - gather.pad_begin;
}

bool moves_by_one(const NestDim& dim) {
  return dim.kind == DimKind::gather && dim.stride == 1 && dim.pad_end >= 0 && pad_begin_of(dim) >= 0;
}

}  // namespace

std::optional<PoolNest> as_forward_sum(const PoolNest& nest) {
  if (!nest.is_backward() || !is_float(nest.input.dtype) || !nest.is_sum() || nest.divides() ||
      nest.has_any_size() || nest.indices || !std::ranges::all_of(nest.dims, moves_by_one))
    return std::nullopt;
  PoolNest sum = nest;
  sum.direction = Direction::forward;
  for (NestDim& dim : sum.dims) {
    dim.kind = DimKind::pool;
    dim.pad_end = std::max<int64_t>(0, dim.output - dim.input + dim.pad_begin);
    dim.pad_begin = pad_begin_of(dim);
  }
  return sum;
}

}  // namespace pooljit::ir
