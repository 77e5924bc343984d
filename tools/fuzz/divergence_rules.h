// The effect of each known divergence: how it changes the expected outputs, and which it leaves open. A value
// and its index are forgiven each for itself, where a condition holds that the rule cannot do without.
#pragma once

#include <cstdint>

#include "tools/fuzz/explain.h"
#include "tools/fuzz/seen_before.h"
#include "tools/fuzz/window_facts.h"

namespace pooljit::fuzz {

// One output, as the rules see it.
struct JudgedOutput {
  ir::DType dtype;
  double epsilon;          // of it
  Number expected, found;  // values
  Number expected_index, found_index;
  WindowFacts window;
  double divisor, kernel_taps;
  Seen seen_before;
  int64_t kernel_dims;         // along which windows have more than one tap
  bool is_dilated_in_padding;  // both along some dimension
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

// What most rules have for two of them.
inline void keep(ir::PoolNest&) {}
inline bool forgive_none(const JudgedOutput&) { return false; }

const DivergenceRule& rule_of(Divergence divergence);
const DivergenceRule& fault_rule_of(size_t fault);  // by its row in tools/fuzz/faults.def

}  // namespace pooljit::fuzz
