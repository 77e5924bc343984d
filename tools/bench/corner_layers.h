// Random layers of the sizes that people have: the fuzzers' small ones, made larger, and unpools.
#pragma once

#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/schedule.h"
#include "tools/fuzz/draw.h"

namespace pooljit::tools {

// One layer, or now and then several pools, of 1 KiB to 8 MiB.
frontend::PoolSpec random_layer(fuzz::Draw& draw);

// Bytes of the elements that a call reads and writes, indices and operands left out.
int64_t moved_bytes(const frontend::PoolSpec& spec);

// What kind of layer this is, as far as it decides which code there is: "indices", "columns to channels"
// (what lies next to each other in the input and in the output), "backward" ... In a fixed order.
std::vector<std::string> features(const frontend::PoolSpec& spec);
inline constexpr std::string_view apart = "elements apart";  // the feature of a view without neighbours

// The fewest lanes of a vector, of the schedule or of its members.
int fewest_lanes(const ir::Schedule& schedule);
// "channels_last, one lane: indices, columns to columns".
std::string cause_of(const frontend::PoolSpec& spec, const ir::Schedule& schedule);

}  // namespace pooljit::tools
