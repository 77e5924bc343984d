// RowCode: rows of code for all sizes. Down the planes, one column of tiles after the other: what a tile at
// an end of the rows has to know of it is the same for all of them, and found before the loops over rows.
#include <algorithm>

#include "ir/reductions/stored.h"
#include "ir/schedules/lowering/row_code.h"
#include "ir/schedules/windows/rolling_outputs.h"

namespace pooljit::ir {
namespace {

// Rows of a tensor that a loop goes over, so many in an iteration.
class Rows {
 public:
  // What the pitch is multiplied by is computed here, before the loop.
  Rows(Builder& builder, Address first, const Step& pitch, int64_t iteration)
      : b_(builder), first_(std::move(first)), pitch_(pitch), iteration_(iteration) {
    if (pitch.word == no_value) return;
    for (int64_t row = 1; row <= iteration; ++row) multiples_.push_back(b_.imul(pitch.word, b_.iconst(row)));
  }

  Address at(Value iv, int64_t row) {
    if (pitch_.word == no_value)
      return plus(plus(first_, iv, iteration_ * pitch_.constant), row * pitch_.constant);
    if (iv != iv_) iv_ = iv, here_ = {b_.ptradd(first_, b_.imul(iv, multiples_.back())), {}, 0};
    return row == 0 ? here_ : Address{b_.ptradd(here_, multiples_[static_cast<size_t>(row - 1)]), {}, 0};
  }

 private:
  Builder& b_;
  Address first_, here_;
  Step pitch_;
  int64_t iteration_;
  std::vector<Value> multiples_;
  Value iv_ = no_value;
};

}  // namespace

void RowCode::emit_any_size() {
  Cursor cursor = low_.start();
  read_size();
  int loops = low_.open_batch(cursor);
  loops += low_.open_channels(cursor);
  const bool masks = schedule_.tail == Tail::mask;
  if (masks)
    emit_masked(cursor);
  else
    emit_inside(cursor);
  emit_single(cursor, masks ? columns_.masked_begin : columns_.whole_begin,
              masks ? columns_.masked_end : columns_.whole_end);
  low_.close(loops);
  b_.ret();
}

void RowCode::read_size() {
  for (size_t i = 0; i < nest_.dims.size(); ++i) {
    const auto read = [&](SizeLayout::DimField field) { return low_.word(low_.layout().of_dim(i, field)); };
    DimOfSize& dim = sizes_.emplace_back();
    dim.first = read(SizeLayout::first);
    dim.visible = read(SizeLayout::visible);
    dim.padded = read(SizeLayout::padded);
    dim.outputs = read(SizeLayout::outputs);
    dim.seen_begin = read(SizeLayout::seen_begin);
    dim.seen_end = read(SizeLayout::seen_end);
    dim.roll_begin = read(SizeLayout::roll_begin);
    dim.roll_pairs = read(SizeLayout::roll_pairs);
  }
  const auto read = [&](SizeLayout::ColumnField field) { return low_.word(low_.layout().column(field)); };
  columns_.masked_begin = read(SizeLayout::masked_begin);
  columns_.masked_end = read(SizeLayout::masked_end);
  columns_.whole_begin = read(SizeLayout::whole_begin);
  columns_.whole_end = read(SizeLayout::whole_end);
}

Value RowCode::tiles(int lanes, SizeLayout::TileField field) {
  return low_.word(low_.layout().tiles(lanes, field));
}

// 1 from `count` on, else 0.
Value RowCode::reaches(Value iv, Value count) {
  const Value one = b_.iconst(1);
  const Value beyond = b_.iadd(b_.iadd(iv, one), b_.imul(count, b_.iconst(-1)));
  return b_.imin(b_.imax(beyond, b_.iconst(0)), one);
}

// iv, and so many more from `count` on.
Value RowCode::skipping(Value iv, Value count, Value more) {
  return b_.iadd(iv, b_.imul(more, reaches(iv, count)));
}

// All outputs that tiles may cover.
void RowCode::emit_masked(const Cursor& cursor) {
  const Value lanes = b_.iconst(schedule_.lanes);
  const auto cut = [&](SizeLayout::TileField field) { return tiles(schedule_.lanes, field); };
  const Value before = cut(SizeLayout::before), behind = cut(SizeLayout::behind);
  const Value inside_begin = cut(SizeLayout::inside_begin), inside = cut(SizeLayout::inside);
  const Value behind_begin = cut(SizeLayout::behind_begin);
  emit_whole(cursor, inside_begin, inside);
  const Value tile = b_.begin_loop(b_.iadd(before, behind)).iv;
  const Value in_front = b_.iadd(columns_.masked_begin, b_.imul(before, lanes));
  const Value between = b_.iadd(behind_begin, b_.imul(in_front, b_.iconst(-1)));
  const Value is_behind = reaches(tile, before);
  const Value output = b_.iadd(columns_.masked_begin, b_.imul(tile, lanes));
  emit_tile(cursor, schedule_.lanes, b_.iadd(output, b_.imul(between, is_behind)), Border::masked);
  b_.end_loop();
}

// The outputs of whole windows: tiles of as many lanes as fit them, and one that ends with the last output.
void RowCode::emit_inside(const Cursor& cursor) {
  const Value one = b_.iconst(1), minus_one = b_.iconst(-1);
  const Value begin = columns_.whole_begin;
  const Value count = b_.iadd(columns_.whole_end, b_.imul(begin, minus_one));
  Value is_done = b_.iconst(0);
  for (int lanes = schedule_.lanes; lanes >= 1; lanes /= 2) {
    const Value run = tiles(lanes, SizeLayout::run);
    const Value fits = b_.imin(run, one);
    const Value is_first = b_.iadd(fits, b_.imul(is_done, minus_one));
    const Value rest = b_.iadd(count, b_.imul(run, b_.iconst(-lanes)));
    const Value is_left = b_.imul(is_first, b_.imin(rest, one));
    if (lanes == schedule_.lanes)
      emit_whole(cursor, begin, run);
    else
      emit_if(is_first, [&] { emit_tile(cursor, lanes, begin, Border::none); });
    if (lanes > 1)
      emit_if(is_left, [&] {
        emit_tile(cursor, lanes, b_.iadd(columns_.whole_end, b_.iconst(-lanes)), Border::none);
      });
    is_done = fits;
  }
}

// Tiles of whole windows, one behind the other. Rolling they are walked down one by one, else row by row.
void RowCode::emit_whole(const Cursor& cursor, Value first, Value count) {
  if (schedule_.scan == RowSchedule::Scan::rolling) {
    const Value iv = b_.begin_loop(count).iv;
    const Value output = b_.iadd(first, b_.imul(iv, b_.iconst(schedule_.lanes)));
    emit_tile(cursor, schedule_.lanes, output, Border::none);
  } else {
    b_.begin_loop(b_.imin(count, b_.iconst(1)));
    emit_tile(cursor, schedule_.lanes, first, Border::none, count);
  }
  b_.end_loop();
}

// The outputs of a row before and behind these, one by one.
void RowCode::emit_single(const Cursor& cursor, Value begin, Value end) {
  const Value between = b_.iadd(end, b_.imul(begin, b_.iconst(-1)));
  const Value count = b_.iadd(sizes_.back().outputs, b_.imul(between, b_.iconst(-1)));
  const Value iv = b_.begin_loop(count).iv;
  emit_tile(cursor, 1, skipping(iv, begin, between), Border::single);
  b_.end_loop();
}

// ------------------------------------------------------------------------------------- one column of tiles

// Its first output is at this place in the rows. count: so many tiles side by side; no_value: one.
void RowCode::emit_tile(const Cursor& cursor, int lanes, Value output, Border border, Value count) {
  const Tile tile{0, lanes, lanes, false};
  const TileTaps& taps = rules_.taps(tile);
  tap_plans_.reset();
  const Value column = b_.iadd(sizes_.back().first, b_.imul(output, b_.iconst(dim_.stride)));
  Cursor at = cursor;
  low_.move(at.input, column, byte_stride(nest_.input, 1));
  low_.for_each_output(at, [&](Address& address, const View& view) {
    low_.move(address, output, byte_stride(view, view.strides.back()));
  });
  Lanes stored = Lanes::channels(lanes);
  stored.are_columns = true;
  if (border != Border::single) stored.divisor_taps.assign(static_cast<size_t>(lanes), dim_.kernel);
  if (nest_.indices) place_in_row(stored, column);
  if (border == Border::none) return walk_rows(at, tile, taps, stored, count);
  if (border == Border::single) count_taps(stored, output, column);
  SeenColumns seen(b_, column, sizes_.back().visible, reducer_.facts().identity);
  hold(seen, tile, taps);
  if (border == Border::masked) {
    const Value left = b_.iadd(columns_.masked_end, b_.imul(output, b_.iconst(-1)));
    stored.valid = b_.imin(left, b_.iconst(lanes));
    stored.counts = lane_counts(lanes, column);
    if (masks_are_free())
      stored.valid_mask = low_.mask_of(Type::vec(nest_.output.dtype, lanes), stored.valid);
  }
  loads_.see(&seen);
  walk_rows(at, tile, taps, stored, no_value);
  loads_.see(nullptr);
  first_seen_ = no_value;
}

// What the columns add to the indices.
void RowCode::place_in_row(Lanes& lanes, Value column) {
  if (low_.index_rule().of_window) return;
  const int64_t weight = index_rule(nest_).dims.back();
  lanes.origin = b_.imul(column, b_.iconst(weight));
  for (int64_t lane = 0; lane < lanes.count; ++lane) lanes.ramp.push_back(lane * dim_.stride * weight);
}

// Of one output: its divisor, and with indices whether and where its taps begin inside the image.
void RowCode::count_taps(Lanes& lanes, Value output, Value column) {
  const Value one = b_.iconst(1), zero = b_.iconst(0), minus_one = b_.iconst(-1);
  if (nest_.reduction == Reduction::avg && !nest_.divisor_override) {
    const Value whole = b_.iadd(columns_.whole_end, b_.imul(columns_.whole_begin, minus_one));
    const Value number = skipping(output, columns_.whole_begin, b_.imul(whole, minus_one));
    const Value table = low_.word(low_.layout().column(SizeLayout::divisors));
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
  if (nest_.reduction != Reduction::avg || nest_.divisor_override || !counts_lanes(nest_)) return no_value;
  const DimOfSize& size = sizes_.back();
  const Type type = Type::vec(DType::i32, lanes);
  std::vector<int64_t> begins, ends;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    begins.push_back(lane * dim_.stride);
    ends.push_back(lane * dim_.stride + dim_.kernel);
  }
  const Value zero = b_.iconst(0), most = b_.iconst(ends.back());
  const Value before = b_.imul(column, b_.iconst(-1));
  const auto relative = [&](Value place) { return b_.imin(b_.imax(b_.iadd(place, before), zero), most); };
  Value begin = b_.vconst(type, begins);
  if (!nest_.count_include_pad) {
    const Value first = relative(zero);
    begin = b_.binary(Op::max, begin, b_.splat(type, first));
  }
  const Value last = relative(nest_.count_include_pad ? size.padded : size.visible);
  const Value limit = b_.splat(type, last);
  const Value end = b_.binary(Op::min, b_.vconst(type, ends), limit);
  return b_.binary(Op::max, b_.binary(Op::sub, end, begin), b_.vconst_splat(type, 1));
}

// Masks that are registers of their own cost none of those that hold vectors.
bool RowCode::masks_are_free() const { return info(b_.isa()).mask == MaskEncoding::k_bits; }

// The vectors that the tile's code loads.
void RowCode::hold(SeenColumns& seen, const Tile& tile, const TileTaps& taps) {
  const bool rolls = schedule_.scan == RowSchedule::Scan::rolling;
  const bool takes_vectors = rolls ? rules_.rolls_by_keys(tile)
                                   : schedule_.scan == RowSchedule::Scan::rows_first && rules_.holds(tile);
  std::vector<int64_t> starts;
  int width = tile.lanes;
  if (takes_vectors) {
    starts = rules_.reduction(tile).starts();
    width = rules_.reduction(tile).width();
  } else if (const TapPlans& plans = tap_plans(tile, taps); plans.together) {
    starts = plans.together->starts();
    width = plans.together->width();
  } else {
    for (const TileLoads::Tap& tap : plans.apart) {
      if (tap.is_as_loaded) starts.push_back(tap.first);
      for (const int64_t start : tap.lanes.starts())
        if (!tap.is_as_loaded) starts.push_back(tap.first + start), width = tap.lanes.width();
    }
  }
  std::ranges::sort(starts);
  const auto twice = std::ranges::unique(starts);
  starts.erase(twice.begin(), twice.end());
  const Type type = Type::vec(nest_.input.dtype, width);
  const size_t registers = masks_are_free() ? 4 : rules_.spare_vectors(starts.size());
  if (starts.size() > registers && !masks_) masks_ = b_.add_scratch(most_masks * info(b_.isa()).vector_bytes);
  seen.hold(type, starts, registers, masks_.value_or(Address{}));
}

// Down the rows of outputs, with the cursor at a column of tiles, or at the first of so many.
void RowCode::walk_rows(Cursor cursor, const Tile& tile, const TileTaps& taps, const Lanes& lanes,
                        Value count) {
  const bool rolls = schedule_.scan == RowSchedule::Scan::rolling;
  const size_t opened = rolls ? rows() : outer_;
  int loops = 0;
  for (size_t i = 0; i < opened; ++i) {
    loops += low_.open_runs(cursor, /*task=*/i == 0);
    if (i + 1 < outer_) loops += low_.open_outputs(cursor);
  }
  low_.split_full(cursor, [&](Cursor at) {
    if (rolls) return roll(at, tile, taps, {lanes});
    if (outer_ == 0) return emit_row_of_tiles(at, tile, taps, lanes, count);
    for_rows_of_run(at, [&](const Cursor& row) { emit_row_of_tiles(row, tile, taps, lanes, count); });
  });
  low_.close(loops);
}

// Pointers that move on with the loop take fewer instructions than the rows' numbers.
template <typename Body>
void RowCode::for_rows_of_run(Cursor at, const Body& body) {
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

void RowCode::emit_row_of_tiles(Cursor at, const Tile& tile, const TileTaps& taps, Lanes lanes, Value count) {
  if (count == no_value) return low_.store(at, reduce_tile(at, tile, taps), lanes);
  const Value iv = b_.begin_loop(count).iv;
  const int64_t columns = tile.lanes * dim_.stride;
  at.input = plus(at.input, iv, byte_stride(nest_.input, columns));
  low_.for_each_output(at, [&](Address& address, const View& view) {
    address = plus(address, iv, byte_stride(view, tile.lanes * view.strides.back()));
  });
  if (lanes.origin != no_value) {
    const Value moved = b_.imul(iv, b_.iconst(columns * index_rule(nest_).dims.back()));
    lanes.origin = b_.iadd(lanes.origin, moved);
  }
  low_.store(at, reduce_tile(at, tile, taps), lanes);
  b_.end_loop();
}

// All rows of outputs. Those in the middle take rows as they come, the others look where each lies.
void RowCode::roll_down(Cursor cursor, const Lanes& lanes, const Rolling& how, const LoadRow& load) {
  constexpr int64_t pair = 2;
  const NestDim dim = RollingOutputs::iteration_of(nest_.dims[rows()], pair);
  const DimOfSize& size = sizes_[rows()];
  cursor.windows.push_back(low_.usual_window(rows()));
  store_empty_rows(cursor, lanes);
  const auto minus = [&](Value a, Value b) { return b_.iadd(a, b_.imul(b, b_.iconst(-1))); };
  const Value in_pairs = b_.imul(size.roll_pairs, b_.iconst(pair));
  const Value behind = b_.iadd(size.roll_begin, in_pairs);
  const auto one_by_one = [&](Value begin, Value end) {
    const Value first = b_.iadd(size.first, b_.imul(begin, b_.iconst(dim.stride)));
    Cursor base = cursor;
    low_.for_each_output(base, [&](Address& address, const View& view) {
      low_.move(address, begin, low_.step(view, rows()));
    });
    const auto load_row = [this, cursor, first, load](const Position& position) {
      return load_looked_at(cursor, first, position, load);
    };
    const auto store = [this, base, first, lanes, how](const Position& position, const Bundle& windows) {
      const Value output = position.steps[0].iv;
      Cursor at = base;
      low_.for_each_output(at, [&](Address& address, const View& view) {
        low_.move(address, output, low_.step(view, rows()));
      });
      if (nest_.reduction == Reduction::avg && !nest_.divisor_override)
        at.windows.back().divisor_taps = rows_counted(output, first);
      low_.store(at, how.state_of(windows[0]), lanes);
    };
    return RollingOutputs::Stage{minus(end, begin), 1, load_row, store};
  };
  std::vector<RollingOutputs::Stage> stages = {one_by_one(size.seen_begin, size.roll_begin)};
  Cursor middle = cursor;
  const Value newest = b_.iconst(dim.kernel - dim.stride);
  const Value first = b_.iadd(size.first, b_.imul(size.roll_begin, b_.iconst(dim.stride)));
  low_.move(middle.input, b_.iadd(first, newest), low_.step(nest_.input, rows()));
  Rows input(b_, middle.input, low_.step(nest_.input, rows()), pair * dim.stride);
  std::vector<Rows> outputs;
  low_.for_each_output(middle, [&](Address& address, const View& view) {
    low_.move(address, size.roll_begin, low_.step(view, rows()));
    outputs.emplace_back(b_, address, low_.step(view, rows()), pair);
  });
  stages.push_back({size.roll_pairs, pair,
                    [&](const Position& position) {
                      Cursor at = middle;
                      at.input = input.at(position.steps[0].iv, position.first - dim.kernel + dim.stride);
                      return load(at);
                    },
                    [&](const Position& position, const Bundle& windows) {
                      Cursor at = middle;
                      auto place = outputs.begin();
                      low_.for_each_output(at, [&](Address& address, const View&) {
                        address = place++->at(position.steps[0].iv, position.first);
                      });
                      low_.store(at, how.state_of(windows[0]), lanes);
                    }});
  stages.push_back(one_by_one(behind, size.seen_end));
  RollingOutputs(dim, b_, reducer_.facts(), how.join).emit_stages({how.nothing}, stages[0].load, stages);
}

// A row outside the image is, for a maximum, as good as the nearest inside, which the window has too; to a
// sum it adds nothing, not even to the sign of a zero.
Bundle RowCode::load_looked_at(const Cursor& cursor, Value first, const Position& position,
                               const LoadRow& load) {
  Value row = b_.iadd(first, b_.iconst(position.first));
  for (const Position::Step& step : position.steps)
    row = b_.iadd(row, b_.imul(step.iv, b_.iconst(step.positions)));
  const Value visible = sizes_[rows()].visible;
  const Value last = b_.iadd(visible, b_.iconst(-1));
  Cursor at = cursor;
  low_.move(at.input, b_.imin(b_.imax(row, b_.iconst(0)), last), low_.step(nest_.input, rows()));
  const Bundle found = load(at);
  return reducer_.facts().is_idempotent ? found : Bundle{where_seen(row, visible, found[0])};
}

// Of a row outside the image, -0.
Value RowCode::where_seen(Value row, Value visible, Value sum) {
  const Type type = b_.type(sum), number = Type::vec(signed_of(type.dtype), type.lanes);
  const Value one = b_.iconst(1);
  const Value left = b_.iadd(visible, b_.imul(row, b_.iconst(-1)));
  const Value inside_by = b_.imin(b_.iadd(row, one), left);
  const Value is_seen = b_.imax(b_.imin(inside_by, one), b_.iconst(0));
  const Value mask = b_.cmp(Predicate::gt, b_.splat(number, is_seen), b_.vconst_splat(number, 0));
  const int64_t nothing = is_float(type.dtype) ? float_bits(type.dtype, -0.0) : 0;
  return b_.select(mask, sum, b_.vconst_splat(type, nothing));
}

// What the rows of a window make of the divisor.
Value RowCode::rows_counted(Value output, Value begin) {
  const NestDim& dim = nest_.dims[rows()];
  const DimOfSize& size = sizes_[rows()];
  const Value first = b_.iadd(begin, b_.imul(output, b_.iconst(dim.stride)));
  const Value end = b_.iadd(first, b_.iconst(dim.kernel));
  const Value to = b_.imin(end, nest_.count_include_pad ? size.padded : size.visible);
  const Value from = nest_.count_include_pad ? first : b_.imax(first, b_.iconst(0));
  return b_.imax(b_.iadd(to, b_.imul(from, b_.iconst(-1))), b_.iconst(1));
}

// Those whose windows have no row.
void RowCode::store_empty_rows(const Cursor& cursor, const Lanes& lanes) {
  const DimOfSize& size = sizes_[rows()];
  const Value seen = b_.iadd(size.seen_end, b_.imul(size.seen_begin, b_.iconst(-1)));
  const Value count = b_.iadd(size.outputs, b_.imul(seen, b_.iconst(-1)));
  const Value row = skipping(b_.begin_loop(count).iv, size.seen_begin, seen);
  Cursor at = cursor;
  low_.for_each_output(
      at, [&](Address& address, const View& view) { low_.move(address, row, low_.step(view, rows())); });
  reducer_.plan(1, 1);
  low_.store(at, reducer_.start(std::vector<int64_t>(static_cast<size_t>(lanes.count), 0)), lanes);
  b_.end_loop();
}

}  // namespace pooljit::ir
