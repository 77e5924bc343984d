// Lane gather: builds a vector from lanes of several others by shuffles.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "ir/builder.h"
#include "ir/lane_list.h"

namespace pooljit::ir {

// Where a lane of the result comes from.
struct LaneSource {
  static constexpr size_t nowhere = std::numeric_limits<size_t>::max();  // it is not looked at
  size_t vector = nowhere;
  int64_t lane = 0;
};

// The vectors have `width` lanes each; the result has one lane for each of `wanted`, at least one of which
// comes from somewhere. If it has more than `width` lanes, they come from two vectors at most.
Value gather_lanes(Builder& builder, const std::vector<Value>& vectors, int width,
                   std::span<const LaneSource> wanted);

// `count` consecutive lanes of a, from lane `first` on, continued by those of b (no_value: a has them all).
Value following_lanes(Builder& builder, Value a, Value b, int64_t first, int count);

}  // namespace pooljit::ir
