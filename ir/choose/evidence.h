// Evidence: how far the default schedule was from the fastest one on measured layers, by kind of layer and
// machine. `explain` prints it. No choice depends on it. The table ir/choose/evidence.def is made from stored
// samples.
#pragma once

#include <string_view>
#include <vector>

#include "ir/schedule.h"

namespace pooljit::ir {

struct Evidence {
  std::string_view machine;  // the table in bench/choose/samples, e.g. "zen5"
  int layers = 0;            // random layers that had such a default
  int within_percent = 0;    // of them were at most 5 % slower than the fastest of their schedules
  double loss = 1;           // the default's time over the fastest one's, geometric mean
  double worst = 1;          // the largest of these ratios
};

// Of layers of the nest's dtype, whose channels are adjacent or not as its are, with a default of that
// family. Empty where none was measured.
std::vector<Evidence> evidence_of(const PoolNest& nest, Isa isa, Family family);

}  // namespace pooljit::ir
