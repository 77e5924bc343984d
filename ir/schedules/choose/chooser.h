// The chooser: the default schedule of a layer, for which nothing was measured, and why it is the default.
// The only place that compares families.
#pragma once

#include <string>
#include <vector>

#include "ir/schedules/choose/offers.h"

namespace pooljit::ir {

// The answer of one family.
struct Considered {
  Family family;
  Offer offer;
  // Lanes that its first schedule fills. More lanes win; of equals the family that comes first in
  // ir/schedules.def.
  int filled = 0;
  // Rows of rules.def that applied meanwhile, where the layer notes them.
  Layer::RuleNotes rules = {};
  bool is_asked = true;  // false: what is found already fills as many lanes as this family could
};

struct Decision {
  std::vector<Considered> families;  // in the order of ir/schedules.def
  std::vector<Schedule> schedules;   // best first; empty of some nests of any size
  // Number of schedules at the front that the cost model put there: no family offers vectors, and these have
  // some.
  size_t predicted = 0;
  bool counted = false;  // the first one is no family's first: it has much fewer instructions
  bool streams = false;  // outputs leave the caches: stores=streamed comes first where it suits
};

// most = 1: looks for the first schedule of each family only, and skips families that cannot come first.
Decision decide(const Layer& layer, size_t most);

}  // namespace pooljit::ir
