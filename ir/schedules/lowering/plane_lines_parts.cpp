// PlaneLines: rows of some vectors, part by part, from a copy of the plane; and windows down the plane where
// registers do not hold what rolls.
#include "ir/schedules/lowering/plane_lines.h"
#include "ir/schedules/windows/running_window.h"

namespace pooljit::ir {

// All of a part's outputs are stored, and some of them twice where the last part begins before the end of the
// one before it. Planes are copied first, to rows that have room for what is outside the image.
void PlaneLines::emit_parts(const Cursor& cursor, Value parts) {
  b_.begin_loop(b_.imin(parts, b_.iconst(1)));
  begin_copies();
  const Value lanes = b_.iconst(lanes_);
  const Value outputs = low_.word(low_.layout().of_dim(1, SizeLayout::outputs));
  const Value last = b_.isub(outputs, lanes);
  for_planes(cursor, [&](const Cursor& at) {
    Cursor copied = at;
    copied.input = copy(at, parts);
    const Value number = b_.begin_loop(parts).iv;
    Part here{b_.imin(b_.imul(number, lanes), last), all_vectors_, stored_lanes(), std::nullopt};
    plane(copied, here);
    b_.end_loop();
  });
  b_.end_loop();
}

int64_t PlaneLines::copied_row_bytes() const {
  return (most_parts_ + all_vectors_) * b_.type(beyond_).vector_bytes();
}

void PlaneLines::begin_copies() {
  const int64_t vector_bytes = b_.type(beyond_).vector_bytes();
  copied_ = b_.add_scratch(most_lines * copied_row_bytes());
  const Value vectors =
      b_.imul(word_of_rows(SizeLayout::visible), b_.iconst(copied_row_bytes() / vector_bytes));
  const Value iv = b_.begin_loop(vectors).iv;
  b_.store(plus(copied_, iv, vector_bytes), beyond_);
  b_.end_loop();
}

// A plane's rows, from the first column that a window sees on. The columns of the image are at most the
// outputs and a window's reach; the last vector ends with them.
Address PlaneLines::copy(const Cursor& plane, Value parts) {
  const Type type = Type::vec(nest_.input.dtype, lanes_);
  const auto along = [&](SizeLayout::DimField field) { return low_.word(low_.layout().of_dim(1, field)); };
  const Value before = b_.imul(along(SizeLayout::first), b_.iconst(-1));
  const Value last = b_.iadd(along(SizeLayout::visible), b_.iconst(-lanes_));
  const Value number = b_.begin_loop(b_.iadd(parts, b_.iconst(all_vectors_ - 1))).iv;
  const Value column = b_.iadd(before, b_.imin(b_.imul(number, b_.iconst(lanes_)), last));
  Address from = plane.input, to = copied_;
  low_.move(from, column, bytes(type.dtype));
  low_.move(to, column, bytes(b_.type(beyond_).dtype));
  const Builder::Loop rows =
      b_.begin_loop(word_of_rows(SizeLayout::visible), {b_.ptradd(from), b_.ptradd(to)});
  b_.store({rows.carried[1], {}, 0}, as_joined(b_.load(type, {rows.carried[0], {}, 0})));
  const Value next_from = b_.ptradd({rows.carried[0], {}, 0}, low_.step(nest_.input, 0).word);
  const Value next_to = b_.ptradd({rows.carried[1], {}, copied_row_bytes()});
  b_.end_loop({next_from, next_to});
  b_.end_loop();
  return copied_;
}

Value PlaneLines::line_of_copy(const Address& row) {
  const Type type = b_.type(beyond_);
  const auto column = [&](int64_t place) { return b_.load(type, plus(row, place * bytes(type.dtype))); };
  if (!as_keys_) return joined_columns(column);
  Value all = column(0);
  for (int64_t tap = 1; tap < along_.kernel; ++tap)
    all = reducer_.join_keys(all, column(tap * along_.dilation));
  return all;
}

void PlaneLines::run(const Cursor& cursor, const Part& part) {
  const ScratchLine lines(b_, b_.type(nothing_), 1, first_line_);
  const auto store_at = [&](const Position& position, const Bundle& windows) {
    const Value output = as_index(b_, position);
    Cursor there = cursor;
    low_.for_each_output(
        there, [&](Address& address, const View& view) { low_.move(address, output, low_.step(view, 0)); });
    store(there, windows[0], part);
  };
  const auto join = [&](Value earlier, Value later) { return reducer_.join_held(earlier, later, as_keys_); };
  RunningWindow(down_.kernel, b_, join, ScratchLine(b_, b_.type(nothing_), 1, ends_))
      .emit(
          word_of_rows(SizeLayout::outputs), word_of_rows(SizeLayout::output_blocks), {nothing_},
          [&](const Position& row) { return lines.load(row); }, store_at);
}

}  // namespace pooljit::ir
