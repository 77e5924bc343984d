// RowCode: rows in code for all sizes. It walks down the planes, one column of tiles after the other. The
// masks and divisors of a tile at an end of the rows are the same in all rows, and are computed before the
// loops over rows.
#include <algorithm>
#include <set>

#include "ir/schedules/lowering/narrow_rows.h"
#include "ir/schedules/lowering/plane_lines.h"
#include "ir/schedules/lowering/row_code.h"

namespace pooljit::ir {
void RowCode::emit_any_size() {
  Cursor cursor = low_.start();
  if (nest_.extents == Extents::any_windows) return emit_stretches(cursor);
  if (rules_.takes_all_one_by_one()) return emit_one_by_one(cursor);
  read_size();
  const int batches = low_.open_batch(cursor);
  const Cursor batch = cursor;
  Value is_narrow = no_value;
  if (PlaneLines::has_code(nest_, schedule_)) {
    PlaneLines lines(nest_, schedule_, rules_, b_, reducer_, low_);
    lines.emit(cursor);
    is_narrow = lines.is_used();
  }
  const bool has_strided = NarrowRows::has_strided_code(nest_, schedule_);
  if (has_strided) {
    const Value in_one = tiles(schedule_.lanes, SizeLayout::one_vector);
    is_narrow = b_.iadd(in_one, tiles(schedule_.lanes, SizeLayout::two_vectors));
  }
  if (is_narrow != no_value) b_.begin_loop(b_.isub(b_.iconst(1), is_narrow));
  const int loops = low_.open_channels(cursor) + (is_narrow != no_value);
  const bool masks = schedule_.tail == Tail::mask;
  if (masks)
    emit_masked(cursor);
  else
    emit_inside(cursor);
  // Tiles of whole pixels cover all of a row, and masked ones of gradients.
  if ((backward_ && !masks) || rules_.is_long())
    emit_outside(cursor);
  else if (dim_.kind == DimKind::pool)
    emit_single(cursor, masks ? columns_.masked_begin : columns_.whole_begin,
                masks ? columns_.masked_end : columns_.whole_end);
  low_.close(loops);
  if (has_strided) emit_narrow(batch);
  low_.close(batches);
  b_.ret();
}

void RowCode::read_size() {
  for (size_t i = 0; i < nest_.dims.size(); ++i) sizes_.push_back(read_dim(low_, i));
  const auto read = [&](SizeLayout::ColumnField field) { return low_.word(low_.layout().column(field)); };
  columns_.masked_begin = read(SizeLayout::masked_begin);
  columns_.masked_end = read(SizeLayout::masked_end);
  columns_.whole_begin = read(SizeLayout::whole_begin);
  columns_.whole_end = read(SizeLayout::whole_end);
  columns_.stored_end = read(SizeLayout::stored_end);
}

Value RowCode::tiles(int lanes, SizeLayout::TileField field) {
  return low_.word(low_.layout().tiles(lanes, field));
}

// All outputs that tiles may cover.
void RowCode::emit_masked(const Cursor& cursor) {
  const Value places = b_.iconst(places_of_tile(dim_, schedule_.lanes));
  const auto cut = [&](SizeLayout::TileField field) { return tiles(schedule_.lanes, field); };
  const Value before = cut(SizeLayout::before), behind = cut(SizeLayout::behind);
  const Value inside_begin = cut(SizeLayout::inside_begin), inside = cut(SizeLayout::inside);
  const Value behind_begin = cut(SizeLayout::behind_begin);
  emit_whole(cursor, schedule_.lanes, inside_begin, inside, cut(SizeLayout::last));
  const Value tile = b_.begin_loop(b_.iadd(before, behind)).iv;
  const Value in_front = b_.iadd(columns_.masked_begin, b_.imul(before, places));
  const Value between = b_.isub(behind_begin, in_front);
  const Value is_behind = reaches(b_, tile, before);
  const Value place = b_.iadd(columns_.masked_begin, b_.imul(tile, places));
  emit_tile(cursor, schedule_.lanes, b_.iadd(place, b_.imul(between, is_behind)), Border::masked, {});
  b_.end_loop();
}

// The outputs of whole windows: tiles of as many lanes as fit them, and one that ends with the last output.
void RowCode::emit_inside(const Cursor& cursor) {
  const Value one = b_.iconst(1), minus_one = b_.iconst(-1);
  const Value begin = columns_.whole_begin;
  const Value count = b_.iadd(columns_.whole_end, b_.imul(begin, minus_one));
  Value is_done = b_.iconst(0);
  for (int lanes = schedule_.lanes; places_of_tile(dim_, lanes) > 0; lanes /= 2) {
    const Value run = tiles(lanes, SizeLayout::run);
    const Value fits = b_.imin(run, one);
    const Value is_first = b_.iadd(fits, b_.imul(is_done, minus_one));
    const Value rest = b_.iadd(count, b_.imul(run, b_.iconst(-places_of_tile(dim_, lanes))));
    const Value is_left = b_.imul(is_first, b_.imin(rest, one));
    is_done = fits;
    // Tiles of whole periods may have less than half of the outputs of those with twice the lanes.
    if (lanes == schedule_.lanes || backward_) {
      emit_whole(cursor, lanes, begin, b_.imul(run, is_first), is_left);
      continue;
    }
    emit_if(is_first, [&] { emit_tile(cursor, lanes, begin, Border::none, {}); });
    if (lanes > 1)
      emit_if(is_left, [&] {
        emit_tile(cursor, lanes, b_.iadd(columns_.whole_end, b_.iconst(-lanes)), Border::none, {});
      });
  }
}

// Tiles of whole windows, one behind the other, and, where `last` is 1, one that ends with the last such
// output. Rolling they are walked down one by one, else row by row.
void RowCode::emit_whole(const Cursor& cursor, int lanes, Value first, Value count, Value last) {
  const Value all = b_.iadd(count, last);
  const int64_t places = places_of_tile(dim_, lanes);
  const Value at_end = b_.iadd(columns_.whole_end, b_.iconst(-places));
  if (schedule_.scan == RowSchedule::Scan::rolling) {
    const Value iv = b_.begin_loop(all).iv;
    const Value place = b_.iadd(first, b_.imul(iv, b_.iconst(places)));
    emit_tile(cursor, lanes, b_.imin(place, at_end), Border::none, {});
  } else {
    b_.begin_loop(b_.imin(all, b_.iconst(1)));
    const Value further = b_.isub(at_end, first);
    emit_tile(cursor, lanes, first, Border::none, {count, last, further});
  }
  b_.end_loop();
}

// The outputs of a row before and behind these, one by one.
void RowCode::emit_single(const Cursor& cursor, Value begin, Value end) {
  const Value between = b_.isub(end, begin);
  const Value count = b_.isub(sizes_.back().outputs, between);
  const Value iv = b_.begin_loop(count).iv;
  emit_tile(cursor, 1, skipping(b_, iv, begin, between), Border::single, {});
  b_.end_loop();
}

// ------------------------------------------------------------------------------------- one column of tiles

// It begins at this place of the rows.
void RowCode::emit_tile(const Cursor& cursor, int lanes, Value place, Border border,
                        const TilesBeside& beside) {
  const Tile tile{0, lanes, outputs_of_tile(dim_, lanes), false};
  emit_column(cursor, tile, place, border, [&](const Cursor& at, const TileTaps& taps, const Lanes& stored) {
    walk_rows(at, tile, taps, stored, beside);
  });
}

void RowCode::emit_column(const Cursor& cursor, const Tile& tile, Value place, Border border,
                          const Walk& walk) {
  const int lanes = tile.lanes;
  const TileTaps& taps = rules_.taps(tile);
  tap_plans_.reset();
  // A gradient's outputs count from the padding's begin on, another's windows do.
  const Value first = sizes_.back().first;
  const Value output = backward_ ? b_.iadd(first, b_.imul(place, b_.iconst(dim_.stride))) : place;
  const Value column = b_.iadd(backward_ ? b_.iconst(taps.origin) : first,
                               b_.imul(place, b_.iconst(positions_per_place(dim_))));
  Cursor at = cursor;
  low_.move(at.input, column, byte_stride(nest_.input, 1));
  if (low_.beside()) low_.move(at.beside, column, byte_stride(*low_.beside(), 1));
  low_.for_each_output(at, [&](Address& address, const View& view) {
    low_.move(address, output, byte_stride(view, view.strides.back()));
  });
  Lanes stored = Lanes::channels(lanes);
  stored.are_columns = true;
  if (border != Border::single && !backward_)
    stored.divisor_taps.assign(static_cast<size_t>(lanes), dim_.kernel);
  if (nest_.indices) place_in_row(stored, taps, backward_ ? output : column);
  if (border == Border::none && tile.valid < lanes) {
    stored.stored.assign(static_cast<size_t>(lanes), 0);
    std::fill_n(stored.stored.begin(), tile.valid, 1);
  }
  if (border == Border::none) return walk(at, taps, stored);
  if (border == Border::single) count_taps(stored, output, column);
  SeenColumns seen(b_, column, sizes_.back().visible, reducer_.facts().identity);
  const bool may_hold_more = hold(seen, tile, taps);
  if (border != Border::single) {
    const Value left = b_.isub(columns_.stored_end, output);
    stored.valid = b_.imin(left, b_.iconst(tile.valid));
    if (backward_) stored.skipped = b_.imax(b_.iconst(0), b_.imul(output, b_.iconst(-1)));
    if (border == Border::masked) stored.counts = lane_counts(lanes, column);
    if (masks_are_free() || (border == Border::narrow && may_hold_more))
      stored.valid_mask = low_.mask_of(Type::vec(nest_.output.dtype, lanes), stored.valid, 0, stored.skipped);
  }
  std::optional<SeenColumns> seen_indices;
  if (low_.chooses()) hold_indices(seen_indices, tile, taps, column);
  loads_.see(&seen, seen_indices ? &*seen_indices : nullptr);
  walk(at, taps, stored);
  loads_.see(nullptr);
  first_seen_ = no_value;
}

// The columns' summands of the indices: the origins of their windows, or backward they themselves, the first
// of which is this one.
void RowCode::place_in_row(Lanes& lanes, const TileTaps& taps, Value column) {
  const Step weight = low_.column_weight();
  if (low_.index_rule().of_window) {
    if (!backward_) return;
    lanes.ramp.assign(static_cast<size_t>(lanes.count), 0);
    for (size_t lane = 0; lane < taps.windows.size(); ++lane)
      lanes.ramp[lane] = taps.windows[lane].first_tap * weight.constant;
    return;
  }
  const int64_t step = backward_ ? 1 : dim_.stride, each = weight.word == no_value ? weight.constant : 1;
  lanes.origin = b_.imul(column, weight.word == no_value ? b_.iconst(each) : weight.word);
  for (int64_t lane = 0; lane < lanes.count; ++lane) lanes.ramp.push_back(lane * step * each);
  lanes.ramp_unit = weight.word;
}

// Of one output: its divisor, and with indices whether and where its taps begin inside the image.
void RowCode::count_taps(Lanes& lanes, Value output, Value column) {
  const Value one = b_.iconst(1), zero = b_.iconst(0), minus_one = b_.iconst(-1);
  if (nest_.divides_by_taps()) {
    const Value whole = b_.iadd(columns_.whole_end, b_.imul(columns_.whole_begin, minus_one));
    const Value number = skipping(b_, output, columns_.whole_begin, b_.imul(whole, minus_one));
    const Value table = low_.word(low_.layout().column(SizeLayout::outside));
    const Address first{b_.ptradd({b_.param(Param::Role::size), {}, 0}, table), {}, 0};
    const Value entry = b_.imul(number, b_.iconst(sizeof(int64_t)));
    lanes.divisor = b_.iload({b_.ptradd(first, entry), {}, 0});
  }
  if (!nest_.indices) return;
  Value skipped = zero, any = zero;
  for (int64_t tap = 0; tap < dim_.kernel; ++tap) {
    const Value position = b_.iadd(column, b_.iconst(tap * dim_.dilation));
    const Value before = b_.imul(position, minus_one);
    skipped = b_.iadd(skipped, b_.imin(b_.imax(before, zero), one));
    const Value inside_by = b_.imin(b_.iadd(position, one), b_.iadd(sizes_.back().visible, before));
    any = b_.imax(any, b_.imin(inside_by, one));
  }
  lanes.any = any;
  first_seen_ = b_.imul(skipped, b_.iconst(low_.index_step(outer_)));
}

// Of each output of a tile what its columns make of the divisor; no_value: they all have the usual one.
Value RowCode::lane_counts(int lanes, Value column) {
  if (backward_ || !nest_.divides_by_taps() || !counts_lanes(nest_)) return no_value;
  const DimOfSize& size = sizes_.back();
  const Type type = Type::vec(DType::i32, lanes);
  std::vector<int64_t> begins;
  for (int64_t lane = 0; lane < lanes; ++lane)
    begins.push_back(lane / dim_.pixel * dim_.stride + lane % dim_.pixel);
  const int64_t reach = dim_.dilation * (dim_.kernel - 1) + 1;
  const Value zero = b_.iconst(0), most = b_.iconst(begins.back() + reach);
  const Value before = b_.imul(column, b_.iconst(-1));
  const auto relative = [&](Value place) { return b_.imin(b_.imax(b_.iadd(place, before), zero), most); };
  const Value ones = b_.vconst_splat(type, 1);
  const Value limit = b_.splat(type, relative(nest_.count_include_pad ? size.padded : size.visible));
  if (dim_.dilation == 1) {
    std::vector<int64_t> ends = begins;
    for (int64_t& end : ends) end += reach;
    Value begin = b_.vconst(type, begins);
    if (!nest_.count_include_pad) begin = b_.binary(Op::max, begin, b_.splat(type, relative(zero)));
    const Value end = b_.binary(Op::min, b_.vconst(type, ends), limit);
    return b_.binary(Op::max, b_.binary(Op::sub, end, begin), ones);
  }
  // Windows with gaps: tap by tap.
  const Value nothing = b_.vconst_splat(type, 0);
  const Value before_first = b_.splat(type, b_.iadd(relative(zero), b_.iconst(-1)));
  Value count = nothing;
  for (int64_t tap = 0; tap < dim_.kernel; ++tap) {
    const Value here = b_.vconst(type, begins);
    Value counts = b_.cmp(Predicate::gt, limit, here);
    if (!nest_.count_include_pad)
      counts = b_.binary(Op::and_, counts, b_.cmp(Predicate::gt, here, before_first));
    count = b_.binary(Op::add, count, b_.select(counts, ones, nothing));
    for (int64_t& begin : begins) begin += dim_.dilation;
  }
  return b_.binary(Op::max, count, ones);
}

// Masks that are registers of their own cost none of those that hold vectors.
bool RowCode::masks_are_free() const { return info(b_.isa()).mask == MaskEncoding::k_bits; }

// The tile's code loads each vector of a row whole, and moves its lanes later.
bool RowCode::takes_vectors(const Tile& tile) const {
  return schedule_.scan == RowSchedule::Scan::rolling
             ? rules_.rolls_by_keys(tile)
             : schedule_.scan == RowSchedule::Scan::rows_first && rules_.holds(tile);
}

// The vectors of a row that the tile's code loads. One by one each tap may have a width of its own.
std::vector<SeenColumns::Vector> RowCode::loaded_of(const Tile& tile, const TileTaps& taps) {
  std::set<SeenColumns::Vector> loaded;
  const auto add = [&](int lanes, int64_t first, const std::vector<int64_t>& starts) {
    for (const int64_t start : starts) loaded.insert({lanes, first + start});
  };
  if (takes_vectors(tile)) {
    add(rules_.reduction(tile).width(), 0, rules_.reduction(tile).starts());
  } else if (const TapPlans& plans = tap_plans(tile, taps); plans.together) {
    add(plans.together->width(), 0, plans.together->starts());
  } else {
    for (const TileLoads::Tap& tap : plans.apart)
      if (tap.is_as_loaded)
        add(tile.lanes, tap.first, {0});
      else
        add(tap.lanes.width(), tap.first, tap.lanes.starts());
  }
  return {loaded.begin(), loaded.end()};
}

// True if a register is left for the mask of what the tile's code stores.
bool RowCode::hold(SeenColumns& seen, const Tile& tile, const TileTaps& taps) {
  const std::vector<SeenColumns::Vector> loaded = loaded_of(tile, taps);
  // Quotients of integers take some masks themselves.
  const size_t free_masks = reducer_.facts().extra_registers > 0 ? 2 : 4;
  const size_t registers = masks_are_free() ? free_masks : rules_.spare_vectors(loaded.size());
  if (loaded.size() > registers && loaded.size() > masks_held_) {
    masks_held_ = std::max(loaded.size(), usual_masks);
    masks_ = b_.add_scratch(static_cast<int64_t>(masks_held_) * info(b_.isa()).vector_bytes);
  }
  seen.hold(nest_.input.dtype, loaded, registers, masks_.value_or(Address{}));
  return loaded.size() < registers;
}

}  // namespace pooljit::ir
