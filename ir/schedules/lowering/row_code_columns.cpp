// RowCode: down the rows of a column of tiles, in code for all sizes.
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

void RowCode::emit_row_of_tiles(const Cursor& row, const Tile& tile, const TileTaps& taps, const Lanes& lanes,
                                const TilesBeside& beside) {
  const auto emit = [&](const Cursor& at, const Lanes& stored) {
    low_.store(at, reduce_tile(at, tile, taps), stored);
  };
  if (beside.count == no_value) return emit(row, lanes);
  const auto moved = [&](const Lanes& stored, Value outputs) {
    Lanes there = stored;
    if (there.origin == no_value) return there;
    const int64_t weight = dim_.stride * index_rule(nest_).dims.back();
    const Value further = b_.imul(outputs, b_.iconst(weight));
    there.origin = b_.iadd(there.origin, further);
    return there;
  };
  const Value iv = b_.begin_loop(beside.count).iv;
  Cursor at = row;
  at.input = plus(at.input, iv, byte_stride(nest_.input, tile.lanes * dim_.stride));
  low_.for_each_output(at, [&](Address& address, const View& view) {
    address = plus(address, iv, byte_stride(view, tile.lanes * view.strides.back()));
  });
  emit(at, moved(lanes, b_.imul(iv, b_.iconst(tile.lanes))));
  b_.end_loop();
  b_.begin_loop(beside.last);
  Cursor end = row;
  low_.move(end.input, beside.further, byte_stride(nest_.input, dim_.stride));
  low_.for_each_output(end, [&](Address& address, const View& view) {
    low_.move(address, beside.further, byte_stride(view, view.strides.back()));
  });
  emit(end, moved(lanes, beside.further));
  b_.end_loop();
}

// All rows of outputs. Those in the middle take rows as they come, the others look where each lies.
void RowCode::roll_down(Cursor cursor, const Lanes& lanes, const Rolling& how, const LoadRow& load) {
  constexpr int64_t pair = 2;
  const NestDim dim = RollingOutputs::iteration_of(nest_.dims[rows()], pair);
  const DimOfSize& size = sizes_[rows()];
  cursor.windows.push_back(low_.usual_window(rows()));
  store_empty_rows(cursor, lanes);
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
    return RollingOutputs::Stage{b_.isub(end, begin), 1, load_row, store};
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
  const Value left = b_.isub(visible, row);
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
  return b_.imax(b_.isub(to, from), b_.iconst(1));
}

// Those whose windows have no row.
void RowCode::store_empty_rows(const Cursor& cursor, const Lanes& lanes) {
  const DimOfSize& size = sizes_[rows()];
  const Value seen = b_.isub(size.seen_end, size.seen_begin);
  const Value count = b_.isub(size.outputs, seen);
  const Value row = skipping(b_.begin_loop(count).iv, size.seen_begin, seen);
  Cursor at = cursor;
  low_.for_each_output(
      at, [&](Address& address, const View& view) { low_.move(address, row, low_.step(view, rows())); });
  reducer_.plan(1, 1);
  low_.store(at, reducer_.start(std::vector<int64_t>(static_cast<size_t>(lanes.count), 0)), lanes);
  b_.end_loop();
}

}  // namespace pooljit::ir
