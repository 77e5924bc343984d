#include "ir/general/joined_planes.h"

#include <algorithm>

#include "ir/schedules/windows/sum_block.h"

namespace pooljit::ir {
namespace {

bool covers_all(const NestDim& dim) {
  const Window window = dim.window(0);
  return dim.output == 1 && window.taps == dim.input && window.padded_taps == window.taps;
}

// One window is all of a plane, whose rows follow each other without gaps.
bool is_one_packed_plane(const PoolNest& nest) {
  int64_t apart = nest.input.strides.back();
  for (size_t i = nest.dims.size(); i-- > 0; apart *= nest.dims[i].input)
    if (!covers_all(nest.dims[i]) || (nest.dims[i].input > 1 && nest.input.strides[i] != apart)) return false;
  return true;
}

NestDim one_window(int64_t taps) {
  NestDim dim{.input = taps};
  dim.kernel = dim.stride = taps;
  return dim;
}

// The largest divisor up to a limit.
int64_t most_divisor(int64_t number, int64_t limit) {
  int64_t divisor = std::min(number, limit);
  while (number % divisor != 0) --divisor;
  return divisor;
}

}  // namespace

std::optional<PoolNest> with_joined_planes(const PoolNest& general, const PoolNest& sized) {
  if (general.extents != Extents::any_windows || general.is_backward() || sized.dims.size() < 2 ||
      !is_one_packed_plane(sized))
    return std::nullopt;
  const int64_t pixel = sized.input.strides.back();
  if (sized.indices && (pixel != 1 || sized.column_major)) return std::nullopt;
  const int64_t most = sums_floats(sized) ? most_taps_of_sum : general.full_taps();
  int64_t left = general.full_taps();  // for the other dimensions; 0: too many taps
  for (const NestDim& dim : sized.dims) left /= dim.input;
  if (left == 0) return std::nullopt;
  PoolNest joined = sized;
  NestDim &outer = *(joined.dims.end() - 2), &row = joined.dims.back();
  const int64_t in_row = most_divisor(row.input, most);
  outer = one_window(outer.input * (row.input / in_row));
  row = one_window(in_row);
  int64_t taps = 1;
  for (size_t i = joined.dims.size(); i-- > 0;) {
    const int64_t positions = joined.dims[i].input;
    const int64_t part = most_divisor(positions, most / taps);
    taps *= part;
    joined.dims[i] = one_window(positions / part);
    joined.input.strides[i] = taps * pixel;
    if (part < positions) break;
  }
  for (const NestDim& dim : joined.dims)
    if (&dim != &joined.dims.back() && sums_floats(sized) && is_long(dim)) return std::nullopt;
  joined.dims.back() = one_window(taps);
  joined.input.strides.back() = pixel;
  return joined;
}

}  // namespace pooljit::ir
