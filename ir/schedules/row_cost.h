// Which lanes and tail cut the rows of channels_first at the least cost: its default.
#pragma once

#include "ir/reductions/reducer.h"
#include "ir/schedule.h"

namespace pooljit::ir {

struct RowChoice {
  int lanes;
  Tail tail;  // overlap, or mask (split where the ISA cannot)
};

// fitting: the most lanes that suit the nest, of working_bytes each.
RowChoice cheapest_cut(const PoolNest& nest, Isa isa, const ReductionFacts& facts, int fitting,
                       int working_bytes);

// True if no tile that the cut makes has a masked store.
bool stores_whole_vectors(int64_t outputs, const RowChoice& cut);

}  // namespace pooljit::ir
