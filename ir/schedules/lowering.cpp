#include "ir/schedules/lowering.h"

#include <algorithm>

namespace pooljit::ir {

Address plus(Address address, int64_t bytes) {
  address.offset += bytes;
  return address;
}

Address plus(Address address, Value iv, int64_t bytes) {
  if (bytes != 0) address.terms.push_back({iv, bytes});
  return address;
}

int64_t divisor_taps(const PoolNest& nest, const Window& window) {
  return std::max<int64_t>(1, nest.count_include_pad ? window.padded_taps : window.taps);
}

Lanes Lanes::channels(int count, std::vector<int64_t> stored) {
  Lanes lanes;
  lanes.count = count;
  lanes.stored = std::move(stored);
  lanes.divisor_taps.assign(static_cast<size_t>(count), 1);
  return lanes;
}

namespace {

// A row of a run table: int64 columns.
enum Column {
  run_begin,
  run_end,
  run_full,
  run_taps,
  run_divisor,
  run_first,
  run_part,
  columns = run_part + 3
};
constexpr int64_t row_bytes = columns * 8;

std::array<int64_t, 3> digits(int64_t taps) {
  return {taps / Lowering::part / Lowering::part, taps / Lowering::part % Lowering::part,
          taps % Lowering::part};
}

std::vector<int64_t> run_table(const PoolNest& nest, const NestDim& dim, Lowering::Runs which) {
  std::vector<int64_t> table;
  for (const Run& run : runs(dim)) {
    const Window& window = run.window;
    // An empty window has no first tap; 0 keeps its pointer inside the image.
    const int64_t first = window.taps == 0 ? 0 : window.first;
    const bool full = window.taps == dim.kernel;
    if (full && which == Lowering::Runs::borders) continue;
    table.insert(table.end(), {run.begin, run.end, full, window.taps, divisor_taps(nest, window), first});
    const std::array<int64_t, 3> parts = digits(window.taps);
    table.insert(table.end(), parts.begin(), parts.end());
  }
  return table;
}

// True if all windows of the dimension are full: no table, no checks.
bool always_full(const NestDim& dim) {
  const Interior inside = interior(dim);
  return inside.begin == 0 && inside.end == dim.output;
}

// True if the taps of the dimension are summed in parts.
bool is_long(const NestDim& dim) { return dim.kernel > 2 * Lowering::part; }

int64_t byte_stride(const View& view, int64_t elements) { return elements * bytes(view.dtype); }

}  // namespace

// ----------------------------------------------------------------------------------------------------------
// positions

Cursor Lowering::start() {
  Cursor cursor;
  cursor.input.base = b_.param(Param::Role::input);
  cursor.output.base = b_.param(Param::Role::output);
  if (nest_.indices) cursor.indices.base = b_.param(Param::Role::indices);
  cursor.full = b_.iconst(1);
  return cursor;
}

void Lowering::move(Cursor& cursor, Value begin, const Steps& steps) {
  const auto move_one = [&](Address& address, int64_t step) {
    const Value bytes = b_.imul(begin, b_.iconst(step));
    if (const int64_t* constant = b_.constant(bytes))
      address.offset += *constant;
    else
      address = Address{b_.ptradd(address, bytes), {}, 0};
  };
  move_one(cursor.input, steps.input);
  move_one(cursor.output, steps.output);
  if (nest_.indices) move_one(cursor.indices, steps.indices);
}

void Lowering::iterate(Cursor& cursor, Value iv, const Steps& steps) {
  cursor.input = plus(cursor.input, iv, steps.input);
  cursor.output = plus(cursor.output, iv, steps.output);
  if (nest_.indices) cursor.indices = plus(cursor.indices, iv, steps.indices);
}

int Lowering::open_task(Cursor& cursor, const char* name, int64_t extent, const Steps& steps) {
  const int number = b_.add_task(name, extent);
  const Value begin = b_.param(Param::Role::begin, number);
  const Value count = b_.param(Param::Role::count, number);
  move(cursor, begin, steps);
  iterate(cursor, b_.begin_loop(count).iv, steps);
  return 1;
}

int Lowering::open_batch(Cursor& cursor) {
  const auto step = [](const View& view) { return byte_stride(view, view.batch_stride); };
  return open_task(cursor, "n", TaskDim::batch_extent,
                   {step(nest_.input), step(nest_.output), nest_.indices ? step(*nest_.indices) : 0});
}

int Lowering::open_channels(Cursor& cursor) {
  const auto step = [](const View& view) { return byte_stride(view, view.channel_stride); };
  return open_task(cursor, "c", nest_.channels,
                   {step(nest_.input), step(nest_.output), nest_.indices ? step(*nest_.indices) : 0});
}

Lowering::Steps Lowering::dim_steps(size_t dim, int64_t input_positions) const {
  return {byte_stride(nest_.input, nest_.input.strides[dim] * input_positions),
          byte_stride(nest_.output, nest_.output.strides[dim]),
          nest_.indices ? byte_stride(*nest_.indices, nest_.indices->strides[dim]) : 0};
}

WindowAt Lowering::full_window(size_t dim) {
  const int64_t taps = nest_.dims[dim].kernel;
  WindowAt window;
  window.taps = window.divisor_taps = b_.iconst(taps);
  for (size_t digit = 0; digit < 3; ++digit) window.parts[digit] = b_.iconst(digits(taps)[digit]);
  window.first = b_.iconst(0);
  return window;
}

int Lowering::open_runs(Cursor& cursor, bool task, Runs which) {
  const size_t i = cursor.windows.size();
  const NestDim& dim = nest_.dims[i];
  Value begin = b_.iconst(0);
  Value count = b_.iconst(dim.output);
  if (task) {
    const int number = b_.add_task("o" + std::to_string(i), dim.output);
    begin = b_.param(Param::Role::begin, number);
    count = b_.param(Param::Role::count, number);
  }
  if (which == Runs::borders || !always_full(dim)) return open_run_table(cursor, which, begin, count);
  WindowAt window = full_window(i);
  window.outputs = count;
  window.first = b_.imul(begin, b_.iconst(dim.stride));
  move(cursor, begin, dim_steps(i, dim.stride));
  cursor.windows.push_back(window);
  return 0;
}

int Lowering::open_run_table(Cursor& cursor, Runs which, Value begin, Value count) {
  const size_t i = cursor.windows.size();
  const NestDim& dim = nest_.dims[i];
  std::vector<int64_t> table = run_table(nest_, dim, which);
  const int64_t rows = static_cast<int64_t>(table.size()) / columns;
  const Address base{b_.param(Param::Role::table, b_.add_table(std::move(table))), {}, 0};
  const Address row = plus(base, b_.begin_loop(b_.iconst(rows)).iv, row_bytes);
  const auto column = [&](int number) { return b_.iload(plus(row, number * 8)); };

  const Value minus_one = b_.iconst(-1);
  const Value low = b_.imax(begin, column(run_begin));
  const Value high = b_.imin(b_.iadd(begin, count), column(run_end));
  WindowAt window;
  window.outputs = b_.imax(b_.iconst(0), b_.iadd(high, b_.imul(low, minus_one)));
  window.taps = column(run_taps);
  window.divisor_taps = column(run_divisor);
  for (int digit = 0; is_long(dim) && digit < 3; ++digit)
    window.parts[static_cast<size_t>(digit)] = column(run_part + digit);
  // Where the windows of this run start: the run's first output may lie before this task's.
  const Value skipped = b_.iadd(low, b_.imul(column(run_begin), minus_one));
  window.first = b_.iadd(column(run_first), b_.imul(skipped, b_.iconst(dim.stride)));
  const Steps steps = dim_steps(i, 1);
  move(cursor, window.first, {steps.input, 0, 0});
  move(cursor, low, {0, steps.output, steps.indices});
  cursor.full = b_.imul(cursor.full, column(run_full));
  cursor.windows.push_back(window);
  return 1;
}

int Lowering::open_outputs(Cursor& cursor) {
  const size_t i = cursor.windows.size() - 1;
  const NestDim& dim = nest_.dims[i];
  WindowAt& window = cursor.windows[i];
  const Value iv = b_.begin_loop(window.outputs).iv;
  iterate(cursor, iv, dim_steps(i, dim.stride));
  if (nest_.indices) window.first = b_.iadd(window.first, b_.imul(iv, b_.iconst(dim.stride)));
  return 1;
}

void Lowering::close(int loops) {
  for (int i = 0; i < loops; ++i) b_.end_loop();
}

void Lowering::split_full(const Cursor& cursor, const std::function<void(Cursor)>& body) {
  const int64_t* always = b_.constant(cursor.full);
  Cursor full = cursor;
  for (size_t i = 0; i < full.windows.size(); ++i) {
    WindowAt window = full_window(i);
    window.first = full.windows[i].first;
    window.outputs = full.windows[i].outputs;
    full.windows[i] = std::move(window);
  }
  if (always) return body(full);
  b_.begin_loop(cursor.full);
  body(full);
  b_.end_loop();
  b_.begin_loop(b_.iadd(b_.iconst(1), b_.imul(cursor.full, b_.iconst(-1))));
  body(cursor);
  b_.end_loop();
}

// ---------------------------------------------------------------------------------------------------------------
// taps

Lowering::States Lowering::reduce(const Cursor& cursor, size_t dims, const States& fresh, const Leaf& leaf,
                                  int64_t unroll_limit) {
  const Walk walk{cursor, dims, fresh, leaf, unroll_limit};
  return reduce_level(walk, {0, cursor.input, {}, States(fresh.size())});
}

Lowering::States Lowering::combine(const States& a, const States& b) {
  States joined;
  for (size_t i = 0; i < a.size(); ++i) joined.push_back(reducer_.combine(a[i], b[i]));
  return joined;
}

Lowering::States Lowering::reduce_level(const Walk& walk, const Level& level) {
  if (level.dim == walk.dims) return walk.leaf(level.states, level.at, level.offset);
  int64_t straight = 1;  // taps from here inwards, if all are constants
  for (size_t i = level.dim; i < walk.dims; ++i) {
    const int64_t* taps = b_.constant(walk.cursor.windows[i].taps);
    straight = taps && straight <= walk.unroll_limit ? straight * *taps : walk.unroll_limit + 1;
  }
  if (straight <= walk.unroll_limit) return reduce_straight(walk, level);
  const WindowAt& window = walk.cursor.windows[level.dim];
  if (!reducer_.is_split() || !is_long(nest_.dims[level.dim]))
    return reduce_loop(walk, level, window.taps, 0).states;
  Level next = level;
  for (int digit = 0; digit < 3; ++digit)
    next = reduce_loop(walk, std::move(next), window.parts[static_cast<size_t>(digit)], 2 - digit);
  return next.states;
}

Lowering::States Lowering::reduce_straight(const Walk& walk, Level level) {
  const bool started = !level.states[0].empty();
  States before = level.states;
  if (started && reducer_.is_split()) level.states = States(walk.fresh.size());
  const NestDim& dim = nest_.dims[level.dim];
  const int64_t step = byte_stride(nest_.input, nest_.input.strides[level.dim] * dim.dilation);
  const int64_t taps = *b_.constant(walk.cursor.windows[level.dim].taps);
  for (int64_t tap = 0; tap < taps; ++tap) {
    TapOffset offset = level.offset;
    offset.constant += tap * dim.dilation * plane_stride(level.dim);
    level.states = reduce_level(walk, {level.dim + 1, plus(level.at, tap * step), offset, level.states});
  }
  return started && reducer_.is_split() ? combine(before, level.states) : level.states;
}

// Goes over trip * part^depth taps. The pointer and the offset are carried, so that the next loop goes on
// from there.
Lowering::Level Lowering::reduce_loop(const Walk& walk, Level level, Value trip, int depth) {
  if (const int64_t* constant = b_.constant(trip); constant && *constant == 0) return level;
  const NestDim& dim = nest_.dims[level.dim];
  const bool indexed = nest_.indices.has_value();
  const bool joins = reducer_.is_split() && !level.states[0].empty();
  const States& begin = level.states[0].empty() || reducer_.is_split() ? walk.fresh : level.states;
  Values init = {b_.ptradd(level.at)};
  if (indexed) {
    const Type type = Type::vec(reducer_.offset_dtype(), b_.type(walk.fresh[0][0]).lanes);
    const Value constant = b_.vconst_splat(type, level.offset.constant);
    init.push_back(level.offset.vec == no_value ? constant
                   : level.offset.constant == 0 ? level.offset.vec
                                                : b_.binary(Op::add, level.offset.vec, constant));
  }
  const auto append = [&](Values& values, const States& states) {
    for (const State& state : states) {
      const State settled = reducer_.settle(state);
      values.insert(values.end(), settled.begin(), settled.end());
    }
  };
  append(init, begin);

  const size_t first_state = indexed ? 2 : 1;
  const auto unpack = [&](const Values& values) {
    Level at = level;
    at.at = Address{values[0], {}, 0};
    at.offset = TapOffset{indexed ? values[1] : no_value, 0};
    auto value = values.begin() + static_cast<std::ptrdiff_t>(first_state);
    for (State& state : at.states) {
      state.assign(value, value + static_cast<std::ptrdiff_t>(walk.fresh[0].size()));
      value += static_cast<std::ptrdiff_t>(walk.fresh[0].size());
    }
    return at;
  };
  const auto pack = [&](const Level& at) {
    Values values = {b_.ptradd(at.at)};
    if (indexed) values.push_back(at.offset.vec);
    append(values, at.states);
    return values;
  };

  Level inside = unpack(b_.begin_loop(trip, init).carried);
  if (depth > 0) {
    inside = reduce_loop(walk, std::move(inside), b_.iconst(part), depth - 1);
  } else {
    inside.states = reduce_level(walk, {level.dim + 1, inside.at, inside.offset, inside.states});
    inside.at = plus(inside.at, byte_stride(nest_.input, nest_.input.strides[level.dim] * dim.dilation));
    if (indexed) {
      const int64_t step = dim.dilation * plane_stride(level.dim);
      inside.offset.vec =
          b_.binary(Op::add, inside.offset.vec, b_.vconst_splat(b_.type(inside.offset.vec), step));
    }
  }
  Level after = unpack(b_.end_loop(pack(inside)));
  if (joins) after.states = combine(level.states, after.states);
  return after;
}

// ------------------------------------------------------------------------------------------------------------
// results

int64_t Lowering::plane_stride(size_t dim) const {
  int64_t stride = 1;
  for (size_t i = dim + 1; i < nest_.dims.size(); ++i) stride *= nest_.dims[i].input;
  return stride;
}

void Lowering::store(const Cursor& cursor, const State& state, const Lanes& lanes) {
  Divisor divisor{b_.iconst(1), lanes.divisor_taps};
  for (const WindowAt& window : cursor.windows) divisor.rows = b_.imul(divisor.rows, window.divisor_taps);
  const Value value = reducer_.finish(state, divisor);
  const Type type = b_.type(value);
  const Value mask = lanes.stored.empty() ? no_value : b_.vmask(type.mask_of(), lanes.stored);
  b_.store(cursor.output, value, mask);
  if (nest_.indices) store_indices(cursor, reducer_.winner(state), lanes);
}

// Index of lane 0's window origin in the plane.
Value Lowering::plane_index(const Cursor& cursor, const Lanes& lanes) {
  Value index = lanes.origin == no_value ? b_.iconst(0) : lanes.origin;
  for (size_t i = 0; i < cursor.windows.size(); ++i)
    index = b_.iadd(index, b_.imul(cursor.windows[i].first, b_.iconst(plane_stride(i))));
  return index;
}

// 1 if every opened window has a tap, else 0; iconst 1 where none can be empty.
Value Lowering::any_tap(const Cursor& cursor) {
  Value any = b_.iconst(1);
  for (size_t i = 0; i < cursor.windows.size(); ++i) {
    if (always_full(nest_.dims[i])) continue;
    const std::vector<Run> all = runs(nest_.dims[i]);
    const bool may_be_empty =
        std::any_of(all.begin(), all.end(), [](const Run& run) { return run.window.taps == 0; });
    if (may_be_empty) any = b_.imul(any, b_.imin(b_.iconst(1), cursor.windows[i].taps));
  }
  return any;
}

void Lowering::store_indices(const Cursor& cursor, Value winner, const Lanes& lanes) {
  const DType dtype = nest_.indices->dtype;
  const int chunk = std::min(lanes.count, info(b_.isa()).vector_bytes / bytes(dtype));
  const Type type = Type::vec(dtype, chunk);
  const Value origin = b_.splat(type, plane_index(cursor, lanes));
  const Value any = any_tap(cursor);
  const auto part_of = [&](const std::vector<int64_t>& all, int begin) {
    return std::vector<int64_t>(all.begin() + begin, all.begin() + begin + chunk);
  };
  for (int begin = 0; begin < lanes.count; begin += chunk) {
    std::vector<int64_t> wanted, ramp;
    for (int lane = begin; lane < begin + chunk; ++lane) {
      wanted.push_back(lane);
      ramp.push_back(lane * lanes.index_step);
    }
    const Value half = chunk == lanes.count ? winner : b_.shuffle(winner, no_value, wanted);
    Value index = b_.binary(Op::add, b_.cvt(dtype, half), origin);
    if (lanes.index_step != 0) index = b_.binary(Op::add, index, b_.vconst(type, ramp));
    if (!b_.constant(any)) {  // all ones where the window is empty: -1
      index = b_.binary(Op::and_, index, b_.splat(type, b_.imul(any, b_.iconst(-1))));
      index = b_.binary(Op::or_, index, b_.splat(type, b_.iadd(any, b_.iconst(-1))));
    }
    if (!lanes.empty.empty())
      index =
          b_.select(b_.vmask(type.mask_of(), part_of(lanes.empty, begin)), b_.vconst_splat(type, -1), index);
    const Value mask =
        lanes.stored.empty() ? no_value : b_.vmask(type.mask_of(), part_of(lanes.stored, begin));
    b_.store(plus(cursor.indices, int64_t{begin} * bytes(dtype)), index, mask);
  }
}

}  // namespace pooljit::ir
