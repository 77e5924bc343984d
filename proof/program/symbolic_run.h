// A Program, run once in the symbolic domain over all tasks of a nest, and the terms that it leaves in
// memory.
#pragma once

#include <vector>

#include "ir/error.h"
#include "ir/nest.h"
#include "ir/offsets.h"
#include "proof/program/terms.h"

namespace pooljit::ir {

// `terms` are of the Program; sizes: of one for all extents. Errors: "interp.*", for an access to what
// belongs to no element of the views. Throws Unreadable.
Result<void> run_symbolically(const Program& program, const PoolNest& nest, int64_t batch, Terms& terms,
                              SizeWords sizes = {});

// An element of a view: which number it has in its plane, row-major, and where it lies, in elements.
struct PlaneElement {
  int64_t n, c, place, offset;
};

// Each element, in any order. extent: of the view's side of a dimension.
template <class Visit>
void for_each_element(const PoolNest& nest, const View& view, int64_t batch, int64_t NestDim::*extent,
                      const Visit& visit) {
  std::vector<int64_t> in_plane;  // offsets, row-major
  std::vector<int64_t> position(nest.dims.size(), 0);
  for (size_t d = 1; d > 0;) {
    in_plane.push_back(position_offset(view, position));
    d = position.size();
    while (d > 0 && ++position[d - 1] == nest.dims[d - 1].*extent) position[--d] = 0;
  }
  // As they lie in memory: channels or positions side by side.
  const auto places = std::ssize(in_plane);
  const bool by_channel = view.channel_block == 1 && view.channel_stride > 1;
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t i = 0; i < (by_channel ? nest.channels : places); ++i)
      for (int64_t j = 0; j < (by_channel ? places : nest.channels); ++j) {
        const int64_t c = by_channel ? i : j, place = by_channel ? j : i;
        visit(PlaneElement{n, c, place, plane_offset(view, n, c) + in_plane[static_cast<size_t>(place)]});
      }
}

// Which bytes from a view's first element on belong to some element.
std::vector<bool> touchable_bytes(const PoolNest& nest, const View& view, int64_t batch,
                                  int64_t NestDim::*extent);

}  // namespace pooljit::ir
