// RowCode: what gradients have of their own in code for all sizes, and rows of long windows.
#include <set>

#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lowering/row_code.h"
#include "ir/schedules/lowering/run_table.h"

namespace pooljit::ir {

// The outputs of the rows before and behind whole tiles, column by column, whose windows a run table tells.
void RowCode::emit_outside(Cursor cursor) {
  const Value usual = cursor.full;
  const Value whole = b_.isub(columns_.whole_end, columns_.whole_begin);
  const Value count = backward_ ? b_.isub(columns_.stored_end, b_.imul(whole, b_.iconst(dim_.stride)))
                                : b_.isub(sizes_.back().outputs, whole);
  for (size_t i = 0; i < outer_; ++i) cursor.windows.push_back({});  // of rows: opened inside
  int loops = low_.open_table(cursor, low_.word(low_.layout().column(SizeLayout::outside)), count);
  loops += low_.open_outputs(cursor);
  const WindowAt column = cursor.windows[outer_];
  cursor.windows.clear();
  cursor.full = usual;
  for (size_t i = 0; i < outer_; ++i) {
    loops += low_.open_runs(cursor, /*task=*/i == 0);
    if (i + 1 < outer_) loops += low_.open_outputs(cursor);
  }
  const Lanes one = Lanes::channels(1);
  const auto emit = [&](Cursor at) {
    at.windows.push_back(column);
    low_.store(at, reduce_alike(at, one), one);
  };
  low_.split_full(cursor, [&](const Cursor& at) { outer_ == 0 ? emit(at) : for_rows_of_run(at, emit); });
  low_.close(loops);
}

// Gradients whose tiles would not hold the outputs that their windows repeat after, or have too much code.
void RowCode::emit_one_by_one(Cursor cursor) {
  int loops = low_.open_batch(cursor);
  loops += low_.open_channels(cursor);
  loops += low_.open_dims(cursor, outer_ + 1);
  const Lanes one = Lanes::channels(1);
  low_.store(cursor, reduce_alike(cursor, one), one);
  low_.close(loops);
  b_.ret();
}

// Over all taps, of outputs that have the same windows.
State RowCode::reduce_alike(const Cursor& cursor, const Lanes& lanes) {
  const Value own = low_.chooses() ? low_.own_index(cursor, lanes) : no_value;
  const auto leaf = [&](const Lowering::States& states, const TapAt& at) {
    const auto load = [&](const Address& address) {
      return load_lanes(b_, Type::vec(nest_.input.dtype, lanes.count), address, 0, {}, 0);
    };
    TapOffset tap = at.offset;
    if (low_.chooses())
      tap = low_.choose(tap, low_.load_indices(at.beside, 0, lanes.count, {}), own);
    else if (low_.beside())
      tap.norm = load(at.beside);
    if (low_.divides()) tap.divisor = {at.divisor, lanes.divisor_taps};
    return Lowering::States{reducer_.accumulate(states[0], load(at.input), tap)};
  };
  reducer_.plan(1, nest_.full_taps());
  return low_.reduce(cursor, outer_ + 1, low_.no_taps(1, lanes.count), leaf, rules_.unroll_limit())[0];
}

// ------------------------------------------------------------------------- windows that follow the extents

// Each row in stretches of outputs that have the same windows.
void RowCode::emit_stretches(Cursor cursor) {
  int loops = low_.open_batch(cursor);
  loops += low_.open_channels(cursor);
  loops += low_.open_dims(cursor, outer_);
  const Value stretch = b_.begin_loop(low_.word(low_.layout().column(SizeLayout::stretches))).iv;
  const Value table = low_.word(low_.layout().column(SizeLayout::outside));
  ++loops;
  loops += low_.open_table(cursor, b_.iadd(table, b_.imul(stretch, b_.iconst(run_row_bytes))), b_.iconst(1));
  constexpr int64_t row_bytes = SizeLayout::row_vector_fields * int64_t{sizeof(int64_t)};
  emit_stretch(cursor, b_.iadd(tiles(schedule_.lanes, SizeLayout::window_rows),
                               b_.imul(stretch, b_.iconst(row_bytes))));
  low_.close(loops);
  b_.ret();
}

// row: the byte of the words that say how vectors cover it.
void RowCode::emit_stretch(const Cursor& cursor, Value row) {
  const Address words{b_.ptradd({b_.param(Param::Role::size), {}, 0}, row), {}, 0};
  const auto read = [&](SizeLayout::RowVectorField field) {
    return b_.iload(plus(words, field * int64_t{sizeof(int64_t)}));
  };
  const Value of_groups = b_.imul(read(SizeLayout::groups), b_.iconst(SizeLayout::vectors_of_group));
  const Value vectors = b_.iadd(of_groups, read(SizeLayout::singles)), rest = read(SizeLayout::rest);
  const Value lanes = b_.iconst(schedule_.lanes);
  emit_alike(cursor, schedule_.lanes, b_.imul(b_.begin_loop(vectors).iv, lanes), no_value);
  b_.end_loop();
  const Value done = b_.imul(vectors, lanes);
  if (schedule_.tail == Tail::mask) {
    b_.begin_loop(b_.imin(rest, b_.iconst(1)));
    emit_alike(cursor, schedule_.lanes, done, rest);
  } else {
    emit_alike(cursor, 1, b_.iadd(done, b_.begin_loop(rest).iv), no_value);
  }
  b_.end_loop();
}

// A vector of a stretch, whose outputs begin so many behind the first; valid: those that are stored, the
// first ones; no_value: all.
void RowCode::emit_alike(Cursor cursor, int lanes, Value output, Value valid) {
  low_.for_each_output(cursor, [&](Address& address, const View& view) {
    low_.move(address, output, byte_stride(view, view.strides.back()));
  });
  Lanes stored = Lanes::channels(lanes);
  stored.are_columns = true;
  stored.valid = valid;
  if (low_.chooses()) {
    const int64_t weight = ir::index_rule(nest_).dims.back();
    stored.origin = b_.imul(output, b_.iconst(weight));
    for (int64_t lane = 0; lane < lanes; ++lane) stored.ramp.push_back(lane * weight);
  }
  low_.store(cursor, reduce_alike(cursor, stored), stored);
}

// The masks of the indices that are read beside these vectors, which may have fewer lanes.
void RowCode::hold_indices(std::optional<SeenColumns>& seen, const Tile& tile, const TileTaps& taps,
                           Value column) {
  std::set<SeenColumns::Vector> held;
  for (const auto [width, start] : loaded_of(tile, taps)) {
    const int lanes = low_.lanes_of_indices(width);
    for (int begin = 0; begin < width; begin += lanes) held.insert({lanes, start + begin});
  }
  const int64_t bytes_of_masks = std::ssize(held) * info(b_.isa()).vector_bytes;
  seen.emplace(b_, column, sizes_.back().visible, 0);
  seen->hold(nest_.indices->dtype, {held.begin(), held.end()}, 0, Address{b_.add_scratch(bytes_of_masks)});
}

}  // namespace pooljit::ir
