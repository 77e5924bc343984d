// Prefetch distances: bytes from a load to what is asked for at the same time; 0: nothing is. They are facts
// of the layer and no fields of a schedule, because no other distance gained enough to be searched for
// (docs/notes/performance.md). A prefetch changes no result.
#pragma once

#include "ir/isa.h"
#include "ir/nest.h"

namespace pooljit::ir {

// Where all rows are read one after the other.
int64_t row_bytes_ahead(const PoolNest& nest, Isa isa);

// Where a window's taps are pixels of which `channels` channels are read, tap by tap.
int64_t tap_bytes_ahead(const PoolNest& nest, int64_t channels);

}  // namespace pooljit::ir
