// Pixels of several channels, walked by vectors over some of these channels: in which order, so that what is
// read lies together. A vector that rolls along a row takes a piece of each pixel, and comes back for the
// next piece when the row is done; in images that outgrow a core's own caches no hardware foresees that. So
// their rows are walked in strips of a few outputs, all channels of each, or window by window.
#pragma once

#include <vector>

#include "ir/isa.h"
#include "ir/nest.h"
#include "ir/reductions/reducer.h"

namespace pooljit::ir {

// Outputs next to each other that are walked together, and again `count` times, each time dim.output outputs
// further on.
struct RollingStrip {
  NestDim dim;        // of the first: its window 0 is that of output `first`
  int64_t first = 0;  // output
  int64_t count = 1;
};

// The strips of the innermost dimension, for vectors that take `channels` of each pixel; none if there are
// not several of both. Where strips repeat, their windows are whole.
std::vector<RollingStrip> rolling_strips(const PoolNest& nest, int64_t channels);

// True if neighbouring windows can share their columns in registers, `unroll` vectors side by side.
bool can_roll(const PoolNest& nest, const ReductionFacts& facts, Isa isa, int unroll);

}  // namespace pooljit::ir
