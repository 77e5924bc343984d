// Lowering: the runs of a dimension in code for all sizes, which are in the words of the size.
#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {

Lowering::Outputs Lowering::rows_of_call() {
  // Windows that follow the extents are taken output by output.
  const bool follow = nest_.is_backward() && nest_.extents == Extents::any_windows;
  if (rows_task_ < 0) rows_task_ = b_.add_task("o0", follow ? TaskDim::size_outputs : TaskDim::size_extent);
  const Value begin = b_.param(Param::Role::begin, rows_task_);
  return {begin, b_.param(Param::Role::count, rows_task_)};
}

int Lowering::open_runs_of_size(Cursor& cursor, bool task) {
  const size_t i = cursor.windows.size();
  const Outputs outputs = task ? rows_of_call() : Outputs{};
  const Value table = word(layout_.of_dim(i, SizeLayout::table));
  return open_rows(cursor, at_words(table), word(layout_.of_dim(i, SizeLayout::runs)), outputs);
}

int Lowering::open_table(Cursor& cursor, Value table, Value runs) {
  return open_rows(cursor, at_words(table), runs, {});
}

Address Lowering::at_words(Value byte) {
  return {b_.ptradd({b_.param(Param::Role::size), {}, 0}, byte), {}, 0};
}

}  // namespace pooljit::ir
