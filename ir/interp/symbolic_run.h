// A Program run once in the symbolic domain, over all tasks of a nest: what it leaves in each place of
// memory.
#pragma once

#include <vector>

#include "ir/error.h"
#include "ir/interp/terms.h"
#include "ir/nest.h"

namespace pooljit::ir {

// `terms` are of the Program. Errors: "interp.*", for an access to what belongs to no element of the views.
// Throws Unreadable.
Result<void> run_symbolically(const Program& program, const PoolNest& nest, int64_t batch, Terms& terms);

// Which bytes from a view's first element on belong to some element. extent: of the view's side of a
// dimension.
std::vector<bool> touchable_bytes(const PoolNest& nest, const View& view, int64_t batch,
                                  int64_t NestDim::*extent);

}  // namespace pooljit::ir
