// WindowLines: window_rows for all sizes of an adaptive pooling. Each row of windows is first reduced over
// its input rows, column by column, to a line in scratch memory. Each window is then a piece of the line,
// in vectors of its own, whose lanes are reduced together with those of other windows. Words of the size
// say where windows begin and end.
//
// Reading scratch memory beyond a window's end is harmless. Only the columns of the image are masked, or,
// where they cannot be, taken in overlapping vectors or one by one.
#pragma once

#include "ir/schedules/families/window_rows.h"
#include "ir/schedules/families/window_rows_lanes.h"
#include "ir/schedules/families/window_rows_vectors.h"
#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {

class WindowLines {
 public:
  // True for layers that are done so in code for all sizes.
  static bool suits(const PoolNest& general);
  // The most windows that are done together.
  static int64_t most_together(const Layer& layer);
  static Result<void> check(const Layer& layer, const WindowRowsSchedule& schedule);

  WindowLines(const PoolNest& nest, const WindowRowsSchedule& schedule, Builder& builder, Reducer& reducer);
  // Emits the whole Program.
  void emit();

 private:
  void begin_line();
  void mask_columns();
  void make_line(const Cursor& cursor);
  // A piece of the line, of some vectors, beginning at the cursor's column.
  using Load = std::function<Value(const Address& address, size_t vector)>;
  void make_piece(const Cursor& cursor, const Address& line, const Type& type, int vectors, const Load& load);
  Value counts_of(Value first, int64_t windows);
  void join_windows(const Cursor& cursor);
  void join_some(const Cursor& cursor, Value first, int64_t windows);
  Value window_of(Value number, const Address& run);
  Address run_at(Value number);

  const PoolNest& nest_;
  const WindowRowsSchedule schedule_;
  const NestDim& dim_;  // along the row
  const Type type_;     // of a vector of the image
  Builder& b_;
  Reducer& reducer_;
  Lowering low_;
  WindowLanes lanes_;
  // Found before any loop.
  Address line_;
  Value nothing_ = no_value;
  Value counts_ = no_value;  // of a row whose windows are all done together
  RowVectors columns_;       // of a whole row
  Values masks_;
};

}  // namespace pooljit::ir
