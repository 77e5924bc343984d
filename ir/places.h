// Output positions and the taps of each: what the oracle (ir/reference.cpp) and the judge (ir/agreement.cpp)
// walk over.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/check.h"
#include "ir/nest.h"

namespace pooljit::ir {

struct Tap {
  int64_t offset;  // in elements, in the plane of one (n, c)
  int64_t index;   // row-major in that plane
};

// An output position and what it is made of, the same for each (n, c).
struct Place {
  std::vector<int64_t> position;
  std::vector<Tap> taps;  // in the image, row-major
  int64_t divisor = 1;
};

// All taps of a product of windows: those of the outer dimensions, each with all of the next.
inline std::vector<Tap> taps_of(const PoolNest& nest, const std::vector<Window>& windows) {
  std::vector<Tap> taps = {{0, 0}};
  for (size_t d = 0; d < windows.size(); ++d) {
    std::vector<Tap> inner;
    for (const Tap& tap : taps)
      for (int64_t i = 0; i < windows[d].taps; ++i) {
        const int64_t position = windows[d].first + i * windows[d].step;
        inner.push_back(
            {tap.offset + position * nest.input.strides[d], tap.index * nest.dims[d].input + position});
      }
    taps = std::move(inner);
  }
  return taps;
}

// Visits every place once, in row-major order.
template <typename Visit>
void for_each_place(const PoolNest& nest, const Visit& visit) {
  const size_t rank = nest.dims.size();
  std::vector<Window> windows(rank);
  Place place;
  place.position.assign(rank, 0);
  for (;;) {
    for (size_t d = 0; d < rank; ++d) windows[d] = nest.dims[d].window(place.position[d]);
    place.taps = taps_of(nest, windows);
    place.divisor = divisor(nest, windows);
    visit(place);
    size_t d = rank;
    while (d > 0 && ++place.position[d - 1] == nest.dims[d - 1].output) place.position[--d] = 0;
    if (d == 0) return;
  }
}

// Where the plane of one (n, c) begins in a view, and where a position lies in it.
inline int64_t plane_offset(const View& view, int64_t n, int64_t c) {
  return n * view.batch_stride + c * view.channel_stride;
}
inline int64_t position_offset(const View& view, const std::vector<int64_t>& position) {
  int64_t offset = 0;
  for (size_t d = 0; d < position.size(); ++d) offset += position[d] * view.strides[d];
  return offset;
}

// Calls visit with a value of the C++ type of a tensor's elements. To add a dtype: a row here.
template <typename Visit>
auto with_element_type(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::u8:
      return visit(uint8_t{});
    case DType::f32:
      return visit(float{});
    default:
      fail_check(__FILE__, __LINE__, "a tensor's dtype", info(dtype).spec_name);
  }
}

}  // namespace pooljit::ir
