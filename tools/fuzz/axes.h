// The choices that a spec makes, as tables: what the test matrix and the fuzzers combine. Reductions and
// dtypes come from their own tables, so a new row of one is drawn at once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frontend/pool_spec.h"

namespace pooljit::fuzz {

// One choice that a spec makes. Settings are applied in the order of the axes and may look at what came
// before.
struct Setting {
  std::string label;
  std::function<void(frontend::PoolSpec&)> apply;
  unsigned weight = 1;  // how often it is chosen, against the others of its axis
};
struct Axis {
  std::string name;
  std::vector<Setting> settings;
};
const std::vector<Axis>& spec_axes();

}  // namespace pooljit::fuzz
