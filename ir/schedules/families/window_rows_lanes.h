// WindowLanes: the last step of window_rows: reduces the lanes of a window, alone or together with those
// of other windows.
#pragma once

#include "ir/schedules/lanes/lane_fold.h"
#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {

// States of integers with indices, of equal lanes: where a value is the best of all, it names its offset, and
// the least of these is that of the first tap. folds: all lanes become one.
State joined_by_equality(Builder& builder, Op better, const Lowering::States& states, bool folds);

class WindowLanes {
 public:
  WindowLanes(const PoolNest& nest, Builder& builder, Reducer& reducer)
      : nest_(nest), b_(builder), reducer_(reducer) {}

  // States of the same lanes as one vector.
  Value joined(const Lowering::States& states);
  // All lanes of all states in one, by halves.
  State join(const Lowering::States& states);
  LaneFold fold();
  // Stores outputs of a row, one in each lane, with the cursor at the first. counts: of code for all sizes,
  // Lanes::counts.
  void store_row(Lowering& low, const Cursor& cursor, Value row, int64_t outputs, Value counts);

 private:
  State whole_state(const State& state);
  Value some_lanes(Value value, int64_t begin, int lanes);

  const PoolNest& nest_;
  Builder& b_;
  Reducer& reducer_;
};

}  // namespace pooljit::ir
