// A Program run once in the symbolic domain, over all tasks of a nest: what it leaves in each place of
// memory.
#pragma once

#include <vector>

#include "ir/error.h"
#include "ir/interp/terms.h"
#include "ir/nest.h"
#include "ir/offsets.h"

namespace pooljit::ir {

// `terms` are of the Program. Errors: "interp.*", for an access to what belongs to no element of the views.
// Throws Unreadable.
Result<void> run_symbolically(const Program& program, const PoolNest& nest, int64_t batch, Terms& terms);

// An element of a view: which number it has in its plane, row-major, and where it lies, in elements.
struct PlaneElement {
  int64_t n, c, place, offset;
};

// extent: of the view's side of a dimension.
template <class Visit>
void for_each_element(const PoolNest& nest, const View& view, int64_t batch, int64_t NestDim::*extent,
                      const Visit& visit) {
  std::vector<int64_t> position(nest.dims.size(), 0);
  for (int64_t place = 0;; ++place) {
    const int64_t in_plane = position_offset(view, position);
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t c = 0; c < nest.channels; ++c)
        visit(PlaneElement{n, c, place, plane_offset(view, n, c) + in_plane});
    size_t d = position.size();
    while (d > 0 && ++position[d - 1] == nest.dims[d - 1].*extent) position[--d] = 0;
    if (d == 0) return;
  }
}

// Which bytes from a view's first element on belong to some element.
std::vector<bool> touchable_bytes(const PoolNest& nest, const View& view, int64_t batch,
                                  int64_t NestDim::*extent);

}  // namespace pooljit::ir
