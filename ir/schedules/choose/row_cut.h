// Picks vector width and tail handling for rows in channels_first, by estimated cost.
#pragma once

#include "ir/schedule.h"
#include "ir/schedules/choose/facts.h"

namespace pooljit::ir {

struct RowChoice {
  int lanes;
  Tail tail;  // overlap, or mask (split where the ISA cannot)
};

// fitting: the most lanes that suit the layer.
RowChoice cheapest_cut(const Facts& facts, int fitting);

// True if no tile that the cut makes has a masked store.
bool stores_whole_vectors(int64_t outputs, const RowChoice& cut);

}  // namespace pooljit::ir
