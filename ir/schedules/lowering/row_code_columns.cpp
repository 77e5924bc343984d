// RowCode: down the rows of a column of tiles, in code for all sizes.
#include "ir/schedules/lowering/roll_any_size.h"
#include "ir/schedules/lowering/row_code.h"

namespace pooljit::ir {

// Down the rows of outputs, with the cursor at a column of tiles, or at the first of some.
void RowCode::walk_rows(Cursor cursor, const Tile& tile, const TileTaps& taps, const Lanes& lanes,
                        const TilesBeside& beside) {
  const bool rolls = schedule_.scan == RowSchedule::Scan::rolling;
  const size_t opened = rolls ? rows() : outer_;
  int loops = 0;
  for (size_t i = 0; i < opened; ++i) {
    loops += low_.open_runs(cursor, /*task=*/i == 0);
    if (i + 1 < outer_ || backward_) loops += low_.open_outputs(cursor);
  }
  low_.split_full(cursor, [&](Cursor at) {
    if (rolls) return roll(at, tile, taps, {lanes});
    if (outer_ == 0 || backward_) return emit_row_of_tiles(at, tile, taps, lanes, beside);
    for_rows_of_run(at, [&](const Cursor& row) { emit_row_of_tiles(row, tile, taps, lanes, beside); });
  });
  low_.close(loops);
}

// Pointers that move on with the loop take fewer instructions than the rows' numbers.
void RowCode::for_rows_of_run(Cursor at, const std::function<void(const Cursor&)>& body) {
  WindowAt& run = at.windows[rows()];
  const Step input = low_.times(low_.step(nest_.input, rows()), nest_.dims[rows()].stride);
  Values places = {b_.ptradd(at.input)};
  low_.for_each_output(at, [&](Address& address, const View&) { places.push_back(b_.ptradd(address)); });
  const Builder::Loop loop = b_.begin_loop(run.periods, places);
  if (nest_.indices) run.first = b_.iadd(run.first, b_.imul(loop.iv, b_.iconst(nest_.dims[rows()].stride)));
  const auto moved = [&](Value place, const Step& step) {
    return step.word == no_value ? b_.ptradd(plus({place, {}, 0}, step.constant))
                                 : b_.ptradd({place, {}, 0}, step.word);
  };
  Values next;
  auto place = loop.carried.begin();
  at.input = {*place, {}, 0};
  next.push_back(moved(*place++, input));
  low_.for_each_output(at, [&](Address& address, const View& view) {
    address = {*place, {}, 0};
    next.push_back(moved(*place++, low_.step(view, rows())));
  });
  body(at);
  b_.end_loop(next);
}

void RowCode::emit_row_of_tiles(const Cursor& row, const Tile& tile, const TileTaps& taps, const Lanes& lanes,
                                const TilesBeside& beside) {
  const auto emit = [&](const Cursor& at, const Lanes& stored) {
    own_ = low_.chooses() ? low_.own_index(at, stored) : no_value;
    low_.store(at, reduce_tile(at, tile, taps), stored);
  };
  if (beside.count == no_value) return emit(row, lanes);
  const auto moved = [&](const Lanes& stored, Value places) {
    Lanes there = stored;
    if (there.origin == no_value) return there;
    const Step weight = low_.times(low_.column_weight(), dim_.stride);
    const Value further = b_.imul(places, weight.word == no_value ? b_.iconst(weight.constant) : weight.word);
    there.origin = b_.iadd(there.origin, further);
    return there;
  };
  const std::optional<View>& beside_view = low_.beside();
  const Value iv = b_.begin_loop(beside.count).iv;
  Cursor at = row;
  const int64_t places = places_of_tile(dim_, tile.lanes), positions = positions_per_place(dim_);
  at.input = plus(at.input, iv, byte_stride(nest_.input, places * positions));
  if (beside_view) at.beside = plus(at.beside, iv, byte_stride(*beside_view, places * positions));
  low_.for_each_output(at, [&](Address& address, const View& view) {
    address = plus(address, iv, byte_stride(view, tile.valid * view.strides.back()));
  });
  emit(at, moved(lanes, b_.imul(iv, b_.iconst(places))));
  b_.end_loop();
  b_.begin_loop(beside.last);
  Cursor end = row;
  low_.move(end.input, beside.further, byte_stride(nest_.input, positions));
  if (beside_view) low_.move(end.beside, beside.further, byte_stride(*beside_view, positions));
  low_.for_each_output(end, [&](Address& address, const View& view) {
    low_.move(address, beside.further, byte_stride(view, outputs_per_place(dim_) * view.strides.back()));
  });
  emit(end, moved(lanes, beside.further));
  b_.end_loop();
}

// All rows of outputs.
void RowCode::roll_down(const Cursor& cursor, const Lanes& lanes, const Rolling& how, const LoadRow& load) {
  const auto store = [&](const Cursor& at, const Bundle& windows) {
    low_.store(at, how.state_of(windows[0]), lanes);
  };
  RollAnySize(nest_, rows(), sizes_[rows()], reducer_.facts(), b_, low_)
      .emit(cursor, {{how.nothing}, how.join, load, store});
}

}  // namespace pooljit::ir
