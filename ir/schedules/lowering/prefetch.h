// Prefetch distances: how many bytes beyond a load the code prefetches; 0: it does not prefetch. They follow
// from the layer and are not fields of a schedule, because a search over distances gained too little
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
