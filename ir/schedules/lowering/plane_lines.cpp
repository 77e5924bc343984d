#include "ir/schedules/lowering/plane_lines.h"

#include <algorithm>

#include "ir/reductions/float_keys.h"
#include "ir/reductions/neutral.h"
#include "ir/schedules/lanes/lane_gather.h"
#include "ir/schedules/lowering/roll_any_size.h"
#include "ir/schedules/windows/divisors.h"
#include "ir/schedules/windows/rolling_outputs.h"

namespace pooljit::ir {
namespace {

// Masks that are registers of their own, in loads and stores.
bool masks_are_free(Isa isa) { return info(isa).mask == MaskEncoding::k_bits; }

// The lines that the windows of a plane see.
int64_t lines_seen(const NestDim& rows) {
  return std::max(rows.pad_begin + rows.visible_input(), (rows.output - 1) * rows.stride + rows.kernel);
}

// From the first column of a window to its last.
int64_t reach_of(const NestDim& columns) { return columns.dilation * (columns.kernel - 1); }

// Vectors of the columns that the windows of one vector of outputs see.
int64_t vectors_seen(const NestDim& columns, int lanes) { return 1 + ceil_div(reach_of(columns), lanes); }

// Windows along the row that are made of keys in registers, whatever rolls down the plane.
bool are_long_maxima(const PoolNest& nest, int lanes) {
  constexpr int64_t most_vectors = 5;  // beside each other in registers, and what is made of them
  const NestDim& along = nest.dims.back();
  return nest.is_extreme() && !nest.indices && bytes(nest.input.dtype) >= 4 &&
         along.kernel >= least_keyed_kernel && vectors_seen(along, lanes) <= most_vectors;
}

// Where lanes are not masked, all rows go in parts.
bool are_all_parts(const RowSchedule& schedule) { return schedule.tail == Tail::overlap; }

// Rows of bytes would seldom fill more lanes, where they have to.
int lanes_of(const PoolNest& nest, const RowSchedule& schedule) {
  constexpr int most_bytes = 16;
  return are_all_parts(schedule) && bytes(nest.input.dtype) == 1 ? std::min(schedule.lanes, most_bytes)
                                                                 : schedule.lanes;
}

// A copied row has room for so many vectors behind its outputs.
bool fits_copy(const PoolNest& nest, const RowSchedule& schedule) {
  constexpr int64_t most_vectors = 8;
  return vectors_seen(nest.dims.back(), lanes_of(nest, schedule)) <= most_vectors;
}

bool rolls(const PoolNest& nest, const RowSchedule& schedule) {
  if (schedule.scan != RowSchedule::Scan::rolling) return false;
  return are_all_parts(schedule) ? fits_copy(nest, schedule) : reach_of(nest.dims.back()) < schedule.lanes;
}

// Tiles go row by row if registers do not hold both the rolling partials and the vectors of a row.
bool may_roll(const PoolNest& nest, const RowSchedule& schedule) {
  const NestDim& down = nest.dims.front();
  if (schedule.scan == RowSchedule::Scan::rolling || down.stride > 1 || down.dilation > 1 || down.kernel == 1)
    return false;
  if (!are_all_parts(schedule))
    return schedule.scan == RowSchedule::Scan::rows_first && are_long_maxima(nest, schedule.lanes);
  return nest.is_extreme() && !nest.indices && nest.zeros == ZeroRule::any && fits_copy(nest, schedule) &&
         nest.dims.back().kernel >= least_keyed_kernel;
}

// Where masks cost no vectors, two lines are as many as their outputs need.
bool has_code_of_two(const RowSchedule& schedule, Isa isa) {
  return masks_are_free(isa) && !are_all_parts(schedule) && schedule.scan == RowSchedule::Scan::rolling;
}

// Where tiles roll, and lanes are masked, they take longer rows as fast.
int64_t most_parts_of(const RowSchedule& schedule) {
  constexpr int64_t most_where_tiles_roll = 5;
  const bool tiles_roll = schedule.scan == RowSchedule::Scan::rolling && !are_all_parts(schedule);
  return tiles_roll ? most_where_tiles_roll : PlaneLines::most_parts;
}

}  // namespace

bool PlaneLines::has_code(const PoolNest& general, const RowSchedule& schedule) {
  return general.dims.size() == 2 && !general.is_backward() && RowRules::columns_adjacent(general) &&
         schedule.tail != Tail::split && general.dims.back().stride == 1 &&
         general.dims.front().kernel <= most_lines &&
         (rolls(general, schedule) || may_roll(general, schedule));
}

bool PlaneLines::suits(const PoolNest& sized) {
  if (sized.dims.size() != 2) return false;
  const bool counts = sized.divides_by_taps();
  for (const NestDim& dim : sized.dims) {
    if (dim.kind != DimKind::pool || dim.pad_begin < 0 || dim.visible_input() < 1) return false;
    const std::vector<Run> all = runs(dim);
    const bool are_usual = std::ranges::all_of(all, [&](const Run& run) {
      return run.window.taps > 0 && (!counts || divisor_taps(sized, run.window) == dim.kernel);
    });
    if (!are_usual) return false;
  }
  return lines_seen(sized.dims.front()) <= most_lines;
}

int64_t PlaneLines::count(const NestDim& columns, int lanes) {
  const int64_t seen = columns.pad_begin + columns.visible_input();
  const int64_t lines = ceil_div(std::max(columns.output, seen), lanes);
  return lines <= 2 ? lines : 0;
}

int64_t PlaneLines::parts(const NestDim& columns, int lanes) {
  const int64_t parts = ceil_div(columns.output, lanes);
  const bool fill_vectors = std::min(columns.output, columns.visible_input()) >= lanes;
  return count(columns, lanes) != 1 && fill_vectors && parts <= most_parts ? parts : 0;
}

bool PlaneLines::take(const PoolNest& sized, const RowSchedule& schedule, Isa isa) {
  if (!has_code(sized, schedule) || !suits(sized)) return false;
  const NestDim& columns = sized.dims.back();
  const int lanes = lanes_of(sized, schedule);
  const int64_t lines = count(columns, lanes);
  if (lines == 1) return !are_all_parts(schedule);
  if (has_code_of_two(schedule, isa)) return lines == 2;
  const int64_t all = parts(columns, lanes);
  return all > 0 && all <= most_parts_of(schedule);
}

PlaneLines::PlaneLines(const PoolNest& nest, const RowSchedule& schedule, const RowRules& rules,
                       Builder& builder, Reducer& reducer, Lowering& lowering)
    : nest_(nest),
      schedule_(schedule),
      rules_(rules),
      b_(builder),
      reducer_(reducer),
      low_(lowering),
      down_(nest.dims.front()),
      along_(nest.dims.back()),
      are_all_parts_(are_all_parts(schedule)),
      lanes_(lanes_of(nest, schedule)),
      most_parts_(most_parts_of(schedule)),
      whole_{0, lanes_, lanes_, false},
      all_vectors_(vectors_seen(along_, lanes_)),
      has_two_(has_code_of_two(schedule, builder.isa())),
      as_keys_(!are_all_parts_ && (are_long_maxima(nest, lanes_) || rules.rolls_by_keys(whole_))),
      runs_(schedule.scan != RowSchedule::Scan::rolling && !rules.rolls_in_registers()) {}

void PlaneLines::emit(const Cursor& cursor) {
  const auto read = [&](SizeLayout::TileField field) {
    return low_.word(low_.layout().tiles(lanes_, field));
  };
  const Value one = read(SizeLayout::one_vector);
  Value more = read(has_two_ ? SizeLayout::two_vectors : SizeLayout::row_parts);
  if (!has_two_) {
    const Value too_many = reaches(b_, more, b_.iconst(most_parts_ + 1));
    more = b_.imul(more, b_.isub(b_.iconst(1), too_many));
  }
  used_ = b_.imin(more, b_.iconst(1));
  if (!are_all_parts_) used_ = b_.iadd(one, used_);
  begin_lines(cursor);
  if (!are_all_parts_) emit_one(cursor, one);
  has_two_ ? emit_two(cursor, more) : emit_parts(cursor, more);
}

void PlaneLines::for_planes(const Cursor& cursor, const PlaneCode& emit_plane) {
  Cursor at = at_first_tap(cursor);
  const int loops = low_.open_channels(at);
  emit_plane(at);
  low_.close(loops);
}

void PlaneLines::emit_one(const Cursor& cursor, Value is_used) {
  b_.begin_loop(is_used);
  Part only = part(b_.iconst(0), 1);
  for_planes(cursor, [&](const Cursor& at) { plane(at, only); });
  b_.end_loop();
}

void PlaneLines::emit_two(const Cursor& cursor, Value is_used) {
  b_.begin_loop(is_used);
  const Value lanes = b_.iconst(lanes_), zero = b_.iconst(0);
  const Value outputs = low_.word(low_.layout().of_dim(1, SizeLayout::outputs));
  const Value has_second = b_.imin(b_.imax(b_.isub(outputs, lanes), zero), b_.iconst(1));
  masks_held_ = 0;
  Part first = part(zero, all_vectors_);
  Part second = part(lanes, 1);
  for_planes(cursor, [&](const Cursor& at) {
    plane(at, first);
    b_.begin_loop(has_second);
    plane(at, second);
    b_.end_loop();
  });
  b_.end_loop();
}

Value PlaneLines::word_of_rows(SizeLayout::DimField field) {
  return low_.word(low_.layout().of_dim(0, field));
}

// ---------------------------------------------------------------------------- before the loops over planes

Lanes PlaneLines::stored_lanes() const {
  Lanes stored = Lanes::channels(lanes_);
  stored.are_columns = true;
  stored.divisor_taps.assign(static_cast<size_t>(lanes_), along_.kernel);
  return stored;
}

// The first column of each vector, from a part's first one on.
std::vector<int64_t> PlaneLines::starts(int64_t vectors) const {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < vectors; ++i) all.push_back(i * whole_.lanes);
  return all;
}

PlaneLines::Part PlaneLines::part(Value begin, int64_t vectors) {
  const Value first = low_.word(low_.layout().of_dim(1, SizeLayout::first));
  const Value visible = low_.word(low_.layout().of_dim(1, SizeLayout::visible));
  Part made{begin, vectors, stored_lanes(),
            SeenColumns(b_, b_.iadd(first, begin), visible, reducer_.facts().identity)};
  std::vector<SeenColumns::Vector> columns;
  for (const int64_t start : starts(vectors)) columns.push_back({lanes_, start});
  const bool are_free = masks_are_free(b_.isa());
  constexpr size_t free_masks = 4;
  const size_t spare = are_free ? free_masks : rules_.spare_vectors(2);
  const size_t registers = spare > masks_held_ ? spare - masks_held_ : 0;
  Address masks;
  if (columns.size() > registers) masks = b_.add_scratch(vectors * info(b_.isa()).vector_bytes);
  made.seen->hold(nest_.input.dtype, columns, registers, masks);
  if (columns.size() <= registers) masks_held_ += columns.size();
  const Value outputs = low_.word(low_.layout().of_dim(1, SizeLayout::outputs));
  made.stored.valid = b_.imin(b_.isub(outputs, begin), b_.iconst(lanes_));
  if (are_free || spare > masks_held_)
    made.stored.valid_mask = low_.mask_of(Type::vec(nest_.output.dtype, lanes_), made.stored.valid);
  return made;
}

void PlaneLines::begin_lines(Cursor cursor) {
  reducer_.plan(1, along_.kernel);
  const State none = reducer_.start(std::vector<int64_t>(static_cast<size_t>(whole_.lanes), 0));
  beyond_ = b_.vconst_splat(Type::vec(nest_.input.dtype, whole_.lanes), reducer_.facts().identity);
  nothing_ = as_keys_ ? reducer_.key(none) : reducer_.value(none);
  beyond_ = as_joined(beyond_);
  // To a sum or a product a line outside the image adds nothing, not even to the sign of a zero.
  const Type type = b_.type(nothing_);
  if (!reducer_.facts().is_idempotent) nothing_ = b_.vconst_splat(type, neutral_bits(nest_, type.dtype));
  first_line_ = b_.add_scratch(most_lines * type.vector_bytes());
  if (runs_) ends_ = b_.add_scratch(down_.kernel * type.vector_bytes());
  const Value zero = b_.iconst(0);
  const Value before = b_.imul(word_of_rows(SizeLayout::first), b_.iconst(-1));
  const Value visible = word_of_rows(SizeLayout::visible);
  const Value outputs = word_of_rows(SizeLayout::outputs);
  const Value output_pairs = word_of_rows(SizeLayout::output_pairs);
  low_.for_each_output(cursor, [&](Address&, const View& view) {
    pair_steps_.push_back(low_.times(low_.step(view, 0), RollingOutputs::outputs_per_iteration));
  });
  outputs_odd_ = b_.iadd(outputs, b_.imul(output_pairs, b_.iconst(-RollingOutputs::outputs_per_iteration)));
  last_output_ = b_.imul(output_pairs, b_.iconst(RollingOutputs::outputs_per_iteration));
  last_line_ = line(b_.imul(output_pairs, b_.iconst(RollingOutputs::outputs_per_iteration * down_.stride)));
  first_row_ = b_.ptradd(line(before));
  const Value behind = b_.iadd(before, visible);
  const Value last = b_.imul(outputs, b_.iconst(down_.stride));
  const Value end = b_.iadd(last, b_.iconst(down_.kernel - down_.stride));
  fill(zero, b_.imul(before, used_));
  fill(behind, b_.imul(b_.imax(b_.isub(end, behind), zero), used_));
}

// At the first column that a window sees, which may lie outside the image.
Cursor PlaneLines::at_first_tap(Cursor cursor) {
  const Value first = low_.word(low_.layout().of_dim(1, SizeLayout::first));
  low_.move(cursor.input, first, byte_stride(nest_.input, 1));
  return cursor;
}

void PlaneLines::fill(Value first, Value count) {
  const Address begin = line(first);
  const Value iv = b_.begin_loop(count).iv;
  b_.store(plus(begin, iv, b_.type(nothing_).vector_bytes()), nothing_);
  b_.end_loop();
}

Address PlaneLines::line(Value number) {
  Address address = first_line_;
  low_.move(address, number, b_.type(nothing_).vector_bytes());
  return address;
}

// ----------------------------------------------------------------------------------------------- one plane

void PlaneLines::plane(Cursor cursor, Part& part) {
  low_.move(cursor.input, part.begin,
            part.seen ? byte_stride(nest_.input, 1) : bytes(b_.type(beyond_).dtype));
  low_.for_each_output(cursor, [&](Address& address, const View& view) {
    low_.move(address, part.begin, byte_stride(view, view.strides.back()));
  });
  cursor.windows.push_back(low_.usual_window(0));
  make_lines(cursor, part);
  join_lines(cursor, part);
}

// Row by row: two at a time are no faster, and twice the code.
void PlaneLines::make_lines(const Cursor& cursor, Part& part) {
  const Value first_row = b_.ptradd(cursor.input);
  const Builder::Loop loop = b_.begin_loop(word_of_rows(SizeLayout::visible), {first_row, first_row_});
  const Address row = {loop.carried[0], {}, 0}, to = {loop.carried[1], {}, 0};
  b_.store(to, line_of(row, part));
  const Value step = part.seen ? low_.step(nest_.input, 0).word : b_.iconst(copied_row_bytes());
  const Value next_row = b_.ptradd(row, step);
  const Value next_line = b_.ptradd(plus(to, b_.type(nothing_).vector_bytes()));
  b_.end_loop({next_row, next_line});
}

// As a column is joined with others.
Value PlaneLines::as_joined(Value x) { return as_keys_ ? reducer_.key(reducer_.accumulate({}, x, {})) : x; }

// The windows along a row.
Value PlaneLines::line_of(const Address& row, Part& part) {
  if (!part.seen) return line_of_copy(row);
  const Type type = Type::vec(nest_.input.dtype, whole_.lanes);
  reducer_.plan(1, as_keys_ ? 1 : along_.kernel);
  std::vector<Value> columns;
  for (const int64_t start : starts(part.vectors))
    columns.push_back(as_joined(part.seen->load(type, row, start)));
  columns.resize(static_cast<size_t>(all_vectors_), beyond_);
  if (as_keys_) return rules_.reduction(whole_).windows(b_, reducer_, columns)[0];
  return joined_columns([&](int64_t column) {
    return column == 0 ? columns[0] : following_lanes(b_, columns[0], columns[1], column, whole_.lanes);
  });
}

Value PlaneLines::joined_columns(const std::function<Value(int64_t column)>& column) {
  reducer_.plan(1, along_.kernel);
  State state;
  for (int64_t tap = 0; tap < along_.kernel; ++tap)
    state = reducer_.accumulate(state, column(tap * along_.dilation), {});
  return reducer_.value(state);
}

// The windows down the plane.
void PlaneLines::join_lines(const Cursor& cursor, const Part& part) {
  runs_ ? run(cursor, part) : roll(cursor, part);
}

void PlaneLines::store(const Cursor& cursor, Value window, const Part& part) {
  low_.store(cursor, as_keys_ ? reducer_.from_key(window) : State{window}, part.stored);
}

void PlaneLines::roll(const Cursor& cursor, const Part& part) {
  const Type type = b_.type(nothing_);
  const NestDim dim = RollingOutputs::iteration_of(down_, RollingOutputs::outputs_per_iteration);
  const auto lines_from = [&](const Address& first) {
    return [this, type, first](const Position& position) {
      return Bundle{b_.load(type, at(first, position, type.vector_bytes()))};
    };
  };
  Cursor first_of_pair = cursor;
  const auto store_pair = [&](const Position& position, const Bundle& windows) {
    if (position.first == 0) {
      first_of_pair = cursor;
      auto step = pair_steps_.begin();
      low_.for_each_output(first_of_pair, [&](Address& address, const View&) {
        low_.move(address, position.steps[0].iv, *step++);
      });
      return store(first_of_pair, windows[0], part);
    }
    Cursor second = first_of_pair;
    low_.for_each_output(second, [&](Address& address, const View& view) {
      low_.move(address, b_.iconst(1), low_.step(view, 0));
    });
    store(second, windows[0], part);
  };
  const auto store_last = [&](const Position&, const Bundle& windows) {
    Cursor there = cursor;
    low_.for_each_output(there, [&](Address& address, const View& view) {
      low_.move(address, last_output_, low_.step(view, 0));
    });
    store(there, windows[0], part);
  };
  const auto join = [&](Value earlier, Value later) { return reducer_.join_held(earlier, later, as_keys_); };
  const std::vector<RollingOutputs::Stage> stages = {
      {word_of_rows(SizeLayout::output_pairs), RollingOutputs::outputs_per_iteration, lines_from(first_line_),
       store_pair},
      {outputs_odd_, 1, lines_from(last_line_), store_last}};
  RollingOutputs(dim, b_, reducer_.facts(), join).emit_stages({nothing_}, stages[0].load, stages);
}

}  // namespace pooljit::ir
