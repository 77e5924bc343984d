// Slices: vectors that together cover a range of adjacent elements. The schedule's tail says how the last,
// partial one is handled.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/builder.h"
#include "ir/reductions/facts.h"
#include "ir/schedule.h"

namespace pooljit::ir {

struct Slice {
  int64_t begin = 0;
  int lanes = 1;
  std::vector<int64_t> stored;  // 0/1 per lane; empty: all
};
// Of elements begin .. end-1: whole vectors, then the tail.
std::vector<Slice> slices(int64_t begin, int64_t end, int lanes, Tail tail);
// Loads a slice of channels, each so many elements behind the one before. A lane that is not stored gets the
// reduction's identity.
Value load_channels(Builder& builder, const ReductionFacts& facts, Type type, const Address& address,
                    const Slice& slice, int64_t stride = 1);

}  // namespace pooljit::ir
