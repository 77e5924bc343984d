// WindowRowsAnySize: window_rows for all sizes of a global pooling, and of an adaptive one with indices or
// of one dimension (others: ir/schedules/families/window_rows_lines.h). Words of the size say how many
// whole vectors a row of a window has, and how many taps remain. Planes without gaps that one window
// covers are one row, or a few, as these words say (ir/general/size_words.h).
//
// A row is taken in groups of vectors, then vector by vector. The remaining taps are a masked vector.
// Where lanes cannot be masked, they are the last whole vector of the row, or, in rows shorter than a
// vector, taken one by one.
#pragma once

#include "ir/schedules/families/window_rows.h"
#include "ir/schedules/families/window_rows_lanes.h"
#include "ir/schedules/families/window_rows_vectors.h"
#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {

class WindowRowsAnySize {
 public:
  static Result<void> check(const Layer& layer, const WindowRowsSchedule& schedule);

  // stores_indices: of a nest with indices; false where with_joined_rows() has added them.
  WindowRowsAnySize(const PoolNest& nest, const WindowRowsSchedule& schedule, Builder& builder,
                    Reducer& reducer, bool stores_indices);
  // Emits the whole Program.
  void emit();

 private:
  struct CutRow : RowVectors {
    Value mask = no_value;  // of the rest, where lanes are masked
  };
  // Of windows that are taken in together, state by state of each: their pointers, states, and with indices
  // what the first lanes' offsets are.
  struct Taken {
    Values pointers;
    Lowering::States states;
    Value offset = no_value;
  };
  using Apart = std::vector<Value>;  // bytes from the first of some windows to each; 0: no_value

  void emit_channels();
  void emit_windows();
  CutRow cut(const RowVectors& vectors);
  Lowering::States fresh(size_t windows) const;
  Lowering::States take_row(const Lowering::States& before, const TapAt& row, const CutRow& vectors,
                            const Apart& apart);
  Taken begin_row(const Lowering::States& states, const TapAt& row, const Apart& apart);
  Taken repeat(const Taken& before, Value trip, int vectors);
  void take_vector(Taken& taken, int number);
  void take_unmasked(Taken& taken, const CutRow& vectors);
  void take_masked(Taken& taken, Value mask);
  Taken take_last_vector(const Taken& before, Value trip, Value rest);
  Taken take_one_by_one(const Taken& before, Value trip);
  void accumulate(State& state, Value x, Value offset);
  Value further(Value offset, int64_t taps);
  Values pack(const Taken& taken);
  Taken unpack(const Taken& like, const Values& values) const;

  const PoolNest& nest_;
  const WindowRowsSchedule schedule_;
  const Type type_;        // of a vector
  const size_t together_;  // channels
  const size_t states_;    // of a window
  Builder& b_;
  Reducer& reducer_;
  Lowering low_;
  WindowLanes lanes_;
};

}  // namespace pooljit::ir
