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
    if (i + 1 < outer_) loops += low_.open_outputs(cursor);
  }
  low_.split_full(cursor, [&](Cursor at) {
    if (rolls) return roll(at, tile, taps, {lanes});
    if (outer_ == 0) return emit_row_of_tiles(at, tile, taps, lanes, beside);
    for_rows_of_run(at, [&](const Cursor& row) { emit_row_of_tiles(row, tile, taps, lanes, beside); });
  });
  low_.close(loops);
}

// Pointers that move on with the loop take fewer instructions than the rows' numbers.
void RowCode::for_rows_of_run(Cursor at, const std::function<void(const Cursor&)>& body) {
  WindowAt& run = at.windows[rows()];
  const Period& period = low_.plan(rows()).period;
  const std::optional<View>& beside = low_.beside();
  const Step input = low_.times(low_.step(nest_.input, rows()), period.input);
  Values places = {b_.ptradd(at.input)};
  if (beside) places.push_back(b_.ptradd(at.beside));
  low_.for_each_output(at, [&](Address& address, const View&) { places.push_back(b_.ptradd(address)); });
  const Builder::Loop loop = b_.begin_loop(run.periods, places);
  if (nest_.indices || low_.divides())
    run.first = b_.iadd(run.first, b_.imul(loop.iv, b_.iconst(period.input)));
  if (backward_) run.output = b_.iadd(run.output, b_.imul(loop.iv, b_.iconst(period.output)));
  const auto moved = [&](Value place, const Step& step) {
    return step.word == no_value ? b_.ptradd(plus({place, {}, 0}, step.constant))
                                 : b_.ptradd({place, {}, 0}, step.word);
  };
  Values next;
  auto place = loop.carried.begin();
  at.input = {*place, {}, 0};
  next.push_back(moved(*place++, input));
  if (beside) {
    at.beside = {*place, {}, 0};
    next.push_back(moved(*place++, low_.times(low_.step(*beside, rows()), period.input)));
  }
  low_.for_each_output(at, [&](Address& address, const View& view) {
    address = {*place, {}, 0};
    next.push_back(moved(*place++, low_.times(low_.step(view, rows()), period.output)));
  });
  const int phases = low_.open_phases(at);
  body(at);
  low_.close(phases);
  b_.end_loop(next);
}

// The rows' summand of the index by which outputs are chosen, computed once for a row of tiles.
Cursor RowCode::with_index_of_rows(Cursor cursor) {
  if (!low_.chooses() || low_.index_rule().of_window) return cursor;
  for (size_t i = 0; i < cursor.windows.size(); ++i) {
    const Value weight = low_.word(low_.layout().of_dim(i, SizeLayout::weight));
    cursor.index = b_.iadd(cursor.index, b_.imul(cursor.windows[i].output, weight));
    cursor.windows[i].output = b_.iconst(0);
  }
  return cursor;
}

void RowCode::emit_row_of_tiles(const Cursor& row, const Tile& tile, const TileTaps& taps, const Lanes& lanes,
                                const TilesBeside& beside) {
  const Cursor known = with_index_of_rows(row);
  const auto emit = [&](const Cursor& at, const Lanes& stored) {
    own_ = low_.chooses() ? low_.own_index(known, stored) : no_value;
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
