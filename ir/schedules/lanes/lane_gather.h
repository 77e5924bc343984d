// Lane gather: a vector put together from lanes of others, by shuffles.
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

// The vectors have `width` lanes each; the result as many as are wanted, one at least from somewhere. Where
// it has more than `width`, its lanes come from two vectors at most.
Value gather_lanes(Builder& builder, const std::vector<Value>& vectors, int width,
                   std::span<const LaneSource> wanted);

// So many lanes that follow each other, from lane `first` of a on, those of b behind those of a (no_value: a
// has them all).
Value following_lanes(Builder& builder, Value a, Value b, int64_t first, int count);

}  // namespace pooljit::ir
