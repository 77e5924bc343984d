// The chooser: which schedule a layer gets where nothing was measured, and why. The one place that compares
// families.
#pragma once

#include <string>
#include <vector>

#include "ir/schedules/choose/offers.h"

namespace pooljit::ir {

// What one family was asked and what came of it.
struct Considered {
  Family family;
  Offer offer;
  // Lanes of its first schedule that count: more of them win, and of as many the family that ir/schedules.def
  // has first.
  int filled = 0;
  bool is_asked = true;  // false: what is found already fills as many lanes as this family could
};

struct Decision {
  std::vector<Considered> families;  // in the order of ir/schedules.def
  std::vector<Schedule> schedules;   // best first; empty of some nests of any size
  // So many of them come first for what they are predicted to cost: no family offers vectors, and these have
  // some.
  size_t predicted = 0;
  bool streams = false;  // outputs leave the caches: stores=streamed comes first where it suits
};

// most = 1: only the first of each family is sought, and families that cannot come first are not asked.
Decision decide(const Layer& layer, size_t most);

}  // namespace pooljit::ir
