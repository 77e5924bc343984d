// The checker: the rules that every spelling's PoolSpec must obey before anything else uses it.
#pragma once

#include "frontend/pool_spec.h"

namespace pooljit::frontend {

// The spec in its normal form (explicit strides that say what the layout says are left out), or the first
// broken rule of frontend/rules.def. Safe on any values.
ir::Result<PoolSpec> check_spec(PoolSpec spec, FreeDims free_dims = FreeDims::refused);

// "spec.free", of a spec with free dims.
ir::Result<void> check_known(const PoolSpec& spec);

// check_spec without the table of specs that no layer does yet (frontend/unsupported.h). Sizes may be free.
ir::Result<PoolSpec> check_meaning(PoolSpec spec);

// Gives several pools the input that their first member has: behind a change of all members.
void share_input(PoolSpec& spec);

// Gives each free dim its least extent; those of several pools are those of their one input.
void fill_free(PoolSpec& spec);

// How many images a run may have, of a checked spec: the indices of more would not fit index_dtype.
int64_t largest_batch(const PoolSpec& spec);

}  // namespace pooljit::frontend
