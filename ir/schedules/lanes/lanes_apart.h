// Lanes apart: vectors of elements that lie a constant number of elements apart in memory. What lies between
// them is another's and is neither read nor written.
#pragma once

#include <span>

#include "ir/builder.h"
#include "ir/nest.h"
#include "ir/schedule.h"

namespace pooljit::ir {

// True if the columns of a row lie next to each other in the views that are read. Outputs may be anywhere.
bool reads_adjacent_columns(const PoolNest& nest);

// Neighbouring channels that a vector may hold: adjacent ones in the views that are read. Channels that lie
// apart are put together lane by lane, which is for layers without vectors of adjacent columns either; a row
// of one output has none.
int64_t vector_channels(const PoolNest& nest);
// True if a vector may hold the columns of a row.
bool has_vector_columns(const PoolNest& nest);

// True if the vectors of a schedule hold elements that lie apart where they are read.
bool holds_lanes_apart(const PoolNest& nest, const Schedule& schedule);

// True if only one lane of each vector is used: there is one channel, or one output in a row.
bool fills_one_lane(const PoolNest& nest, const Schedule& schedule);

// Elements from a channel to the next of the same block.
int64_t channel_stride(const View& view);

// A vector whose lane i is the element i * stride behind `from`. wanted: 0/1 for each lane, empty for all;
// the others have the bits `otherwise` and touch no memory.
Value load_lanes(Builder& builder, const Type& type, const Address& from, int64_t stride,
                 std::span<const int64_t> wanted, int64_t otherwise);
// Stores the lanes of which `stored` is not 0, or all if it is empty.
void store_apart(Builder& builder, const Address& to, Value value, int64_t stride,
                 std::span<const int64_t> stored);

}  // namespace pooljit::ir
