// What each known divergence changes about what is meant, and which outputs it then leaves open. A value and
// its index are forgiven each for itself, where a condition holds that the rule cannot do without.
#pragma once

#include <cstdint>

#include "tools/fuzz/explain.h"
#include "tools/fuzz/window_facts.h"

namespace pooljit::fuzz {

// One output, as the rules see it.
struct JudgedOutput {
  ir::DType dtype;
  double expected, found;  // values
  WindowFacts window;
  double divisor;
  bool is_average, is_extreme, is_max, is_indexed;
  bool has_plain_mean;  // an average in the range of its taps, or of them and zeros
};

struct DivergenceRule {
  void (*change)(ir::PoolNest&);
  bool (*forgives_value)(const JudgedOutput&);  // asked where the value is another
  bool (*forgives_index)(const JudgedOutput&);  // asked where the index is another
};

const DivergenceRule& rule_of(Divergence divergence);

}  // namespace pooljit::fuzz
