#include "ir/general/joined_planes.h"

#include <algorithm>

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

}  // namespace

std::optional<PoolNest> with_joined_planes(const PoolNest& general, const PoolNest& sized) {
  if (general.extents != Extents::any_windows || general.is_backward() || sized.dims.size() < 2 ||
      !is_one_packed_plane(sized))
    return std::nullopt;
  const int64_t pixel = sized.input.strides.back();
  if (sized.indices && (pixel != 1 || sized.column_major)) return std::nullopt;
  for (size_t i = 0; i < sized.dims.size(); ++i)
    if (sized.dims[i].input > general.dims[i].kernel) return std::nullopt;
  const int64_t most = sums_floats(sized) ? most_taps_of_sum : general.full_taps();
  PoolNest joined = sized;
  int64_t taps = 1;
  for (size_t i = joined.dims.size(); i-- > 0;) {
    const int64_t positions = joined.dims[i].input;
    int64_t part = std::min(positions, most / taps);
    while (positions % part != 0) --part;
    taps *= part;
    joined.dims[i] = one_window(positions / part);
    joined.input.strides[i] = taps * pixel;
    if (part < positions) break;
  }
  joined.dims.back() = one_window(taps);
  joined.input.strides.back() = pixel;
  return joined;
}

}  // namespace pooljit::ir
