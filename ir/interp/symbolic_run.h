// A Program run once in the symbolic domain, over all tasks of a nest: what it leaves in each place of
// memory.
#pragma once

#include "ir/error.h"
#include "ir/interp/terms.h"
#include "ir/nest.h"

namespace pooljit::ir {

// `terms` are of the Program. Errors: "interp.*", for an access to what belongs to no element of the views.
// Throws Unreadable.
Result<void> run_symbolically(const Program& program, const PoolNest& nest, int64_t batch, Terms& terms);

}  // namespace pooljit::ir
