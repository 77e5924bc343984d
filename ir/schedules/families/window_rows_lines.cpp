#include "ir/schedules/families/window_rows_lines.h"

#include <algorithm>
#include <bit>

#include "ir/schedules/lowering/run_table.h"

namespace pooljit::ir {
namespace {

constexpr int64_t word_bytes = sizeof(int64_t);
// Windows are short: longer vectors of a line would be mostly empty.
constexpr int most_line_lanes = 16;
constexpr int64_t most_windows = 8;
// Vectors of columns that go down the rows at once.
constexpr int columns_at_once = SizeLayout::vectors_of_group;

}  // namespace

bool WindowLines::suits(const PoolNest& general) {
  return general.extents == Extents::any_windows && general.dims.size() > 1 && !joins_whole_states(general) &&
         !is_one_window(general);
}

int64_t WindowLines::most_together(const Layer& layer) {
  const PoolNest& nest = layer.nest();
  if (nest.output.strides.back() != 1 || (nest.divides_by_taps() && !counts_lanes(nest))) return 1;
  return std::min<int64_t>({most_windows, nest.dims.back().output, layer.most_lanes(LaneUse::moved)});
}

Result<void> WindowLines::check(const Layer& layer, const WindowRowsSchedule& schedule) {
  const PoolNest& nest = layer.nest();
  if (!has_rows_of_windows(nest, layer.facts(LaneUse::moved)) ||
      schedule.lanes > layer.most_lanes(LaneUse::moved))
    return unsupported(
        "schedule.sizes",
        "code for all sizes takes rows of windows whose columns lie next to each other, in lanes "
        "that hold their sums",
        "use channels_last or fewer lanes");
  if (auto tail = check_tail_of_any_size(layer, schedule); !tail) return tail;
  if (schedule.windows_together <= most_together(layer)) return {};
  return unsupported(
      "schedule.together",
      "for all sizes window_rows does windows of a row together whose results lie next to each "
      "other, or 2, 4 or 8 such channels of one window each",
      "use windows_together=1");
}

WindowLines::WindowLines(const PoolNest& nest, const WindowRowsSchedule& schedule, Builder& builder,
                         Reducer& reducer)
    : nest_(nest),
      schedule_(schedule),
      dim_(nest.dims.back()),
      type_(Type::vec(nest.input.dtype, schedule.lanes)),
      b_(builder),
      reducer_(reducer),
      low_(nest, builder, reducer),
      lanes_(nest, builder, reducer) {}

void WindowLines::emit() {
  Cursor cursor = low_.start();
  // Of few taps: NaNs are looked for at once, so that a line has them.
  reducer_.plan(columns_at_once, nest_.full_taps());
  begin_line();
  columns_ = row_vectors(b_, low_, schedule_.lanes, b_.iconst(dim_.output));
  if (schedule_.tail == Tail::mask) mask_columns();
  const bool is_one_block = schedule_.windows_together == dim_.output && dim_.output > 1;
  if (nest_.divides_by_taps() && is_one_block) counts_ = counts_of(b_.iconst(0), dim_.output);
  int loops = low_.open_batch(cursor);
  loops += low_.open_channels(cursor);
  loops += low_.open_dims(cursor, nest_.dims.size() - 1);
  make_line(cursor);
  join_windows(cursor);
  low_.close(loops);
  b_.ret();
}

// Columns behind a line's end hold the identity.
void WindowLines::begin_line() {
  const State none = reducer_.start(std::vector<int64_t>(static_cast<size_t>(schedule_.lanes), 0));
  nothing_ = reducer_.value(none);
  const Type type = b_.type(nothing_);
  const int64_t column_bytes = bytes(type.dtype);
  line_ = b_.add_scratch((SizeLayout::most_line_columns + columns_at_once * type.lanes) * column_bytes);
  const Value columns = low_.word(low_.layout().of_dim(nest_.dims.size() - 1, SizeLayout::visible));
  Address end = line_;
  low_.move(end, columns, column_bytes);
  b_.store(end, nothing_);
}

// Divisors of an average, for some windows of a row, one in each lane.
Value WindowLines::counts_of(Value first, int64_t windows) {
  const auto lanes = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(windows)));
  const Type type = Type::vec(DType::i32, lanes);
  Value counts = b_.vconst_splat(type, 1);
  for (int64_t i = 0; i < windows; ++i) {
    std::vector<int64_t> lane(static_cast<size_t>(lanes), 0);
    lane[static_cast<size_t>(i)] = 1;
    const Value number = b_.iadd(first, b_.iconst(i));
    const Value count = b_.splat(type, b_.iload(plus(run_at(number), run_divisor * word_bytes)));
    counts = b_.select(b_.vmask(type.mask_of(), lane), count, counts);
  }
  return counts;
}

// Of the vectors behind the whole groups.
void WindowLines::mask_columns() {
  const Value lanes = b_.iconst(schedule_.lanes), zero = b_.iconst(0);
  Value left = b_.iadd(b_.imul(columns_.singles, lanes), columns_.rest);
  for (int i = 0; i < columns_at_once; ++i) {
    const Value inside = b_.imax(b_.imin(left, lanes), zero);
    masks_.push_back(low_.mask_of(type_, inside));
    left = b_.isub(left, lanes);
  }
}

// ------------------------------------------------------------------------------------------------- the line

void WindowLines::make_line(const Cursor& cursor) {
  const int64_t vector_bytes = type_.vector_bytes(), line_bytes = b_.type(nothing_).vector_bytes();
  const auto load = [&](const Address& address, size_t) { return b_.load(type_, address); };
  Value input = b_.ptradd(cursor.input), line = b_.ptradd(line_);
  const auto at_column = [&](Value place) {
    Cursor at = cursor;
    at.input = {place, {}, 0};
    return at;
  };
  const auto repeat = [&](Value trip, int vectors) {
    const Builder::Loop loop = b_.begin_loop(trip, {input, line});
    make_piece(at_column(loop.carried[0]), {loop.carried[1], {}, 0}, type_, vectors, load);
    const Value next_input = b_.ptradd({loop.carried[0], {}, vectors * vector_bytes});
    const Value next_line = b_.ptradd({loop.carried[1], {}, vectors * line_bytes});
    const Values ended = b_.end_loop({next_input, next_line});
    input = ended[0], line = ended[1];
  };
  repeat(columns_.groups, columns_at_once);
  if (schedule_.tail == Tail::mask) {
    // A group too, some vectors of which may have no column.
    b_.begin_loop(b_.imin(b_.iadd(columns_.singles, columns_.rest), b_.iconst(1)));
    const Value outside = b_.vconst_splat(type_, reducer_.facts().identity);
    make_piece(at_column(input), {line, {}, 0}, type_, columns_at_once,
               [&](const Address& address, size_t i) { return b_.load(type_, address, masks_[i], outside); });
    return static_cast<void>(b_.end_loop());
  }
  repeat(columns_.singles, 1);
  const Value has_rest = b_.imin(columns_.rest, b_.iconst(1));
  // Each column is for itself: those of the last vector may be made twice.
  b_.begin_loop(b_.imul(has_rest, columns_.any));
  const Value back = b_.iadd(columns_.rest, b_.iconst(-schedule_.lanes));
  Cursor last = at_column(input);
  Address last_line = {line, {}, 0};
  low_.move(last.input, back, bytes(type_.dtype));
  low_.move(last_line, back, bytes(b_.type(nothing_).dtype));
  make_piece(last, last_line, type_, 1, load);
  b_.end_loop();
  const Type one = Type::vec(type_.dtype, 1);
  const Value is_short = b_.isub(b_.iconst(1), columns_.any);
  const Value iv = b_.begin_loop(b_.imul(columns_.rest, is_short)).iv;
  Cursor single = at_column(input);
  single.input = plus(single.input, iv, bytes(type_.dtype));
  make_piece(single, plus({line, {}, 0}, iv, bytes(b_.type(nothing_).dtype)), one, 1,
             [&](const Address& address, size_t) { return b_.load(one, address); });
  b_.end_loop();
}

void WindowLines::make_piece(const Cursor& cursor, const Address& line, const Type& type, int vectors,
                             const Load& load) {
  const Lowering::States fresh(static_cast<size_t>(vectors),
                               reducer_.start(std::vector<int64_t>(static_cast<size_t>(type.lanes), 0)));
  const auto take = [&](Lowering::States states, const TapAt& row) {
    for (size_t i = 0; i < states.size(); ++i) {
      const Address address = plus(row.input, static_cast<int64_t>(i) * type.vector_bytes());
      states[i] = reducer_.accumulate(states[i], load(address, i), {});
    }
    return states;
  };
  const Lowering::States states = low_.reduce(cursor, nest_.dims.size() - 1, fresh, take, /*unroll_limit=*/1);
  Address to = line;
  for (const State& state : states) {
    const Value value = reducer_.value(state);
    b_.store(to, value);
    to = plus(to, b_.type(value).vector_bytes());
  }
}

// ---------------------------------------------------------------------------------------------- its windows

void WindowLines::join_windows(const Cursor& cursor) {
  const int64_t together = schedule_.windows_together;
  const int64_t blocks = dim_.output / together, rest = dim_.output % together;
  if (blocks == 1 && rest == 0) return join_some(cursor, b_.iconst(0), together);
  const Value block = b_.begin_loop(b_.iconst(blocks)).iv;
  Cursor at = cursor;
  low_.for_each_output(at, [&](Address& address, const View& view) {
    address = plus(address, block, byte_stride(view, together * view.strides.back()));
  });
  join_some(at, b_.imul(block, b_.iconst(together)), together);
  b_.end_loop();
  if (rest == 0) return;
  Cursor behind = cursor;
  low_.for_each_output(behind, [&](Address& address, const View& view) {
    address = plus(address, byte_stride(view, blocks * together * view.strides.back()));
  });
  join_some(behind, b_.iconst(blocks * together), rest);
}

// The windows from this one on.
void WindowLines::join_some(const Cursor& cursor, Value first, int64_t windows) {
  LaneFold fold = lanes_.fold();
  for (int64_t i = 0; i < windows; ++i) {
    const Value number = b_.iadd(first, b_.iconst(i));
    fold.add(window_of(number, run_at(number)));
  }
  const Value results = fold.finish();
  Value counts = no_value;
  if (schedule_.windows_together == 1) {
    Lanes one = Lanes::channels(1);
    if (nest_.divides_by_taps()) one.divisor = b_.iload(plus(run_at(first), run_divisor * word_bytes));
    return low_.store(cursor, {results}, one);
  }
  if (nest_.divides_by_taps()) counts = counts_ == no_value ? counts_of(first, windows) : counts_;
  lanes_.store_row(low_, cursor, results, windows, counts);
}

Address WindowLines::run_at(Value number) {
  const Value table = low_.word(low_.layout().of_dim(nest_.dims.size() - 1, SizeLayout::table));
  const Address first{b_.ptradd({b_.param(Param::Role::size), {}, 0}, table), {}, 0};
  const Value at = b_.imul(number, b_.iconst(run_row_bytes));
  return {b_.ptradd(first, at), {}, 0};
}

// A window's columns of the line, joined into one vector.
Value WindowLines::window_of(Value number, const Address& run) {
  const Type line = b_.type(nothing_);
  const Type type = Type::vec(line.dtype, std::min(line.lanes, most_line_lanes));
  const RowVectors vectors = row_vectors(b_, low_, type.lanes, number);
  Address place = line_;
  low_.move(place, b_.iload(plus(run, run_first * word_bytes)), bytes(line.dtype));
  const Value in_groups = b_.imul(vectors.groups, b_.iconst(SizeLayout::vectors_of_group));
  const Value none = reducer_.value(reducer_.start(std::vector<int64_t>(static_cast<size_t>(type.lanes), 0)));
  const Value begin = b_.ptradd(place);
  const Builder::Loop loop = b_.begin_loop(b_.iadd(in_groups, vectors.singles), {begin, none});
  const Value x = b_.load(type, {loop.carried[0], {}, 0});
  const Value joined = reducer_.join_values(loop.carried[1], x);
  const Value next = b_.ptradd({loop.carried[0], {}, type.vector_bytes()});
  const Values ended = b_.end_loop({next, joined});
  const Address end = {ended[0], {}, 0};
  const Value mask = low_.mask_of(type, vectors.rest);
  if (schedule_.tail == Tail::mask) return reducer_.join_values(ended[1], b_.load(type, end, mask, none));
  const Value loaded = b_.load(type, end);
  return reducer_.join_values(ended[1], b_.select(mask, loaded, none));
}

}  // namespace pooljit::ir
