// Lanes apart: vectors of elements that are a constant stride apart in memory. The elements between them
// are neither read nor written.
#pragma once

#include <functional>
#include <span>

#include "ir/builder.h"
#include "ir/nest.h"
#include "ir/schedule.h"

namespace pooljit::ir {

// True if the columns of a row are adjacent in the views that are read. Outputs may be anywhere.
bool reads_adjacent_columns(const PoolNest& nest);

// The number of neighbouring channels that a vector may hold: those that are adjacent in the views that are
// read. Strided channels, which are gathered lane by lane, count only if there are no vectors of adjacent
// columns, as in rows of one output.
int64_t vector_channels(const PoolNest& nest);
// True if a vector may hold the columns of a row.
bool has_vector_columns(const PoolNest& nest);

// True if the schedule's vectors hold elements that are strided in the views that are read.
bool holds_lanes_apart(const PoolNest& nest, const Schedule& schedule);

// True if only one lane of each vector is used: there is one channel, or one output in a row.
bool fills_one_lane(const PoolNest& nest, const Schedule& schedule);

// The distance from a channel to the next of the same block, in elements.
int64_t channel_stride(const View& view);

using AddressOfLane = std::function<Address(int64_t lane)>;

// A vector whose lane i is the element i * stride behind `from`. wanted: 0/1 for each lane, empty for all.
// Lanes that are not wanted have the bits `otherwise` and read no memory.
Value load_lanes(Builder& builder, const Type& type, const Address& from, int64_t stride,
                 std::span<const int64_t> wanted, int64_t otherwise);
// The same, each lane from its address, which is asked for in the order of the lanes.
Value load_apart(Builder& builder, const Type& type, std::span<const int64_t> wanted, int64_t otherwise,
                 const AddressOfLane& at);
// Stores the lanes of which `stored` is not 0, or all if it is empty, one after the other, each at its
// address.
void store_apart(Builder& builder, Value value, std::span<const int64_t> stored, const AddressOfLane& at);

}  // namespace pooljit::ir
