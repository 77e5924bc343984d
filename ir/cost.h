// The cost model: the predicted cost of a legal Program, from counting its instructions. Nothing is run or
// measured, so a Program has one cost for one ir::Machine. docs/tuning.md says what it is good for: putting
// schedules in an order.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "ir/machine.h"
#include "ir/nest.h"
#include "ir/op_costs.h"
#include "ir/program.h"

namespace pooljit::ir {

// The instructions that a Program executes for a batch of one.
struct OpCounts {
  double instructions = 0, loads = 0, stores = 0;
  std::array<double, op_class_count> executed{};  // by OpClass
  std::array<double, unit_count> busy{};          // cycles of each unit
  double stalls = 0;                              // cycles that long loops wait for what they carry
  bool are_all = true;  // false: there were more turns of loops to follow than was allowed
};
// most_turns: so many turns of loops are followed one by one, where those inside them run another number of
// times in each.
OpCounts count_ops(const Program& legal, const OpCosts& costs, int64_t most_turns = INT64_MAX);

struct Cost {
  OpCounts counts;
  double outputs = 0;        // elements that a batch of one has
  Unit limit = Unit::load;   // the busiest unit
  double cycles = 0;         // per output, of a core that waits for no memory
  int level = 0;             // 1 .. 3: the cache that holds input, output and indices; 4: none does
  double memory_cycles = 0;  // per output, to move them through that level once
  double seconds = 0;        // of one call with the batch, on one thread at a nominal clock
  bool memory_bound() const { return memory_cycles > cycles; }
};

// The order of costs: seconds, then cycles. Of Programs that wait equally long for memory, the one with fewer
// cycles is better.
inline bool is_cheaper(const Cost& a, const Cost& b) {
  return std::tie(a.seconds, a.cycles) < std::tie(b.seconds, b.cycles);
}

// Of a Program that `nest` was lowered to.
Cost predict(const Program& legal, const PoolNest& nest, int64_t batch, const Machine& machine,
             int64_t most_turns = INT64_MAX);

}  // namespace pooljit::ir
