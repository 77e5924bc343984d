// RowCode: planes of narrow rows of strided columns, in code for all sizes (NarrowRows).
#include "ir/schedules/lowering/narrow_rows.h"
#include "ir/schedules/lowering/roll_any_size.h"
#include "ir/schedules/lowering/row_code.h"

namespace pooljit::ir {

// All planes of a call, with the cursor at a batch. Nothing happens at sizes that have the usual tiles.
void RowCode::emit_narrow(const Cursor& cursor) {
  for (int vectors = 1; vectors <= NarrowRows::most_vectors; ++vectors) {
    b_.begin_loop(tiles(schedule_.lanes, vectors == 1 ? SizeLayout::one_vector : SizeLayout::two_vectors));
    const RowsOfCall rows = read_rows(cursor);
    const Tile tile = NarrowRows::tile(dim_, schedule_.lanes, vectors);
    emit_column(cursor, tile, b_.iconst(0), Border::narrow,
                [&](Cursor plane, const TileTaps& taps, const Lanes& lanes) {
                  const auto emit = [&](const Cursor& row) {
                    low_.store(row, reduce_tile(row, tile, taps), lanes);
                  };
                  const int loops = low_.open_channels(plane);
                  emit_whole_rows(plane, rows, emit);
                  emit_other_rows(plane, rows, emit);
                  low_.close(loops);
                });
    b_.end_loop();
  }
}

// Before the loop over planes.
RowCode::RowsOfCall RowCode::read_rows(Cursor cursor) {
  const auto [begin, count] = low_.rows_of_call();
  const Value end = b_.iadd(begin, count);
  const auto clamped = [&](SizeLayout::DimField field) {
    const Value output = low_.word(low_.layout().of_dim(rows(), field));
    return b_.imax(b_.imin(output, end), begin);
  };
  const Value from = clamped(SizeLayout::usual_begin), to = clamped(SizeLayout::usual_end);
  const Value whole = b_.isub(to, from);
  const auto bytes_of = [&](Value positions, const Step& step) {
    return b_.imul(positions, step.word == no_value ? b_.iconst(step.constant) : step.word);
  };
  const Value first = b_.iadd(sizes_[rows()].first, b_.imul(from, b_.iconst(nest_.dims[rows()].stride)));
  RowsOfCall of{begin,
                b_.isub(from, begin),
                whole,
                b_.isub(count, whole),
                bytes_of(first, low_.step(nest_.input, rows())),
                {}};
  low_.for_each_output(cursor, [&](Address&, const View& view) {
    of.whole_outputs.push_back(bytes_of(from, low_.step(view, rows())));
  });
  return of;
}

// Rows of usual windows.
void RowCode::emit_whole_rows(Cursor plane, const RowsOfCall& of,
                              const std::function<void(const Cursor&)>& emit) {
  plane.input = {b_.ptradd(plane.input, of.whole_input), {}, 0};
  auto moved = of.whole_outputs.begin();
  low_.for_each_output(plane, [&](Address& address, const View&) {
    address = {b_.ptradd(address, *moved++), {}, 0};
  });
  WindowAt window = low_.usual_window(rows());
  window.periods = of.whole;
  plane.windows.push_back(window);
  for_rows_of_run(plane, emit);
}

// Rows of windows that reach over the ends of the image, or have another divisor.
void RowCode::emit_other_rows(const Cursor& plane, const RowsOfCall& of,
                              const std::function<void(const Cursor&)>& emit) {
  const NestDim& down = nest_.dims[rows()];
  const DimOfSize& size = sizes_[rows()];
  const Value iv = b_.begin_loop(of.others).iv;
  const Value output = b_.iadd(of.begin, skipping(b_, iv, of.before, of.whole));
  const Value first = b_.iadd(size.first, b_.imul(output, b_.iconst(down.stride)));
  const Value zero = b_.iconst(0);
  const Value from = b_.imax(first, zero);
  const Value to = b_.imin(b_.iadd(first, b_.iconst(down.kernel)), size.visible);
  WindowAt window = low_.usual_window(rows());
  window.taps = b_.imax(b_.isub(to, from), zero);
  window.divisor_taps = divisor_taps_at(b_, nest_, down, size, first);
  Cursor row = plane;
  low_.move(row.input, from, low_.step(nest_.input, rows()));
  low_.for_each_output(
      row, [&](Address& address, const View& view) { low_.move(address, output, low_.step(view, rows())); });
  row.windows.push_back(window);
  emit(row);
  b_.end_loop();
}

}  // namespace pooljit::ir
