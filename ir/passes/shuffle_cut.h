// Cuts a shuffle of any lane list into shuffles that are one instruction each (ir/passes/shuffle_forms.h).
#pragma once

#include <cstdint>
#include <span>

#include "ir/builder.h"
#include "ir/lane_list.h"

namespace pooljit::ir {

// b may be no_value. The result has lanes.size() lanes.
Value cut_shuffle(Builder& builder, Value a, Value b, std::span<const int64_t> lanes);

// The parts of a vector, and two vectors as one.
Value lower_half(Builder& builder, Value a);
Value upper_half(Builder& builder, Value a);
Value concat(Builder& builder, Value low, Value high);

}  // namespace pooljit::ir
