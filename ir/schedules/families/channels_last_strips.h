// Strips: an order of outputs for channels-last images that are larger than a core's own caches. A vector
// that rolls along a row reads a slice of each pixel, and returns for the next slice when the row is done:
// a pattern that hardware does not prefetch. A strip is a few outputs of a row; all channels of a strip
// are done before the next strip. Other schedules for such images go window by window.
#pragma once

#include <vector>

#include "ir/isa.h"
#include "ir/nest.h"
#include "ir/reductions/reducer.h"

namespace pooljit::ir {

// Neighbouring outputs that are walked together, repeated `count` times, each time dim.output outputs further
// on.
struct RollingStrip {
  NestDim dim;        // of the first: its window 0 is that of output `first`
  int64_t first = 0;  // output
  int64_t count = 1;
};

// The strips of the innermost dimension, for vectors that take `channels` of each pixel. None unless there
// are several strips and several such vectors. Where strips repeat, their windows are whole.
std::vector<RollingStrip> rolling_strips(const PoolNest& nest, int64_t channels);

// True if neighbouring windows can share their columns in registers, with so many vectors side by side.
bool can_roll(const PoolNest& nest, const ReductionFacts& facts, Isa isa, int side_by_side);

}  // namespace pooljit::ir
