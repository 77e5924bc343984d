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
  Number expected, found;  // values
  WindowFacts window;
  double divisor, kernel_taps;
  bool is_average, is_extreme, is_max, is_indexed;
  bool is_mean;  // an average that is stored as what it is, in its taps' dtype
  bool is_sum;   // the same, or a sum
  bool counts_padding;
};

struct DivergenceRule {
  void (*change)(ir::PoolNest&);
  bool (*forgives_value)(const JudgedOutput&);  // asked where the value is another
  bool (*forgives_index)(const JudgedOutput&);  // asked where the index is another
  // Of an engine that keeps the rule: whether the output shows that here it does not. Null: the rule leaves
  // too much open to be broken.
  bool (*is_broken)(const JudgedOutput&) = nullptr;
};

const DivergenceRule& rule_of(Divergence divergence);

}  // namespace pooljit::fuzz
