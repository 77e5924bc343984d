#include "ir/schedules/lowering/plane_lines.h"

#include <algorithm>

#include "ir/reductions/neutral.h"
#include "ir/schedules/lanes/lane_gather.h"
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

}  // namespace

bool PlaneLines::has_code(const PoolNest& general, const RowSchedule& schedule) {
  const NestDim& row = general.dims.back();
  return general.dims.size() == 2 && schedule.scan == RowSchedule::Scan::rolling &&
         schedule.tail == Tail::mask && row.stride == 1 && row.dilation * (row.kernel - 1) < schedule.lanes;
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

bool PlaneLines::take(const PoolNest& sized, const RowSchedule& schedule, Isa isa) {
  if (!has_code(sized, schedule) || !suits(sized)) return false;
  const NestDim& columns = sized.dims.back();
  const int64_t lines = count(columns, schedule.lanes);
  return lines == 1 || (lines == 2 && (masks_are_free(isa) || columns.output >= schedule.lanes));
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
      whole_{0, schedule.lanes, schedule.lanes, false},
      as_keys_(rules.rolls_by_keys(whole_)) {}

void PlaneLines::emit(const Cursor& cursor) {
  const auto read = [&](SizeLayout::TileField field) {
    return low_.word(low_.layout().tiles(schedule_.lanes, field));
  };
  const Value one = read(SizeLayout::one_vector);
  Value two = read(SizeLayout::two_vectors);
  // Of two parts the second is masked, or, where that takes long, both are full.
  const bool masks = masks_are_free(b_.isa());
  const Value lanes = b_.iconst(schedule_.lanes), zero = b_.iconst(0), unit = b_.iconst(1);
  const Value outputs = low_.word(low_.layout().of_dim(1, SizeLayout::outputs));
  const Value behind = b_.isub(outputs, lanes);
  const Value more = b_.imin(b_.imax(behind, zero), unit);
  if (!masks) two = b_.imul(two, b_.imax(b_.imin(b_.iadd(behind, unit), unit), zero));
  used_ = b_.iadd(one, two);
  begin_lines(cursor);
  const auto planes = [&](const std::function<void(const Cursor&)>& emit_plane) {
    Cursor at = at_first_tap(cursor);
    const int loops = low_.open_channels(at);
    emit_plane(at);
    low_.close(loops);
  };
  b_.begin_loop(one);
  Part only = part(zero, /*is_wide=*/false, /*is_full=*/false);
  planes([&](const Cursor& at) { plane(at, only); });
  b_.end_loop();
  b_.begin_loop(two);
  masks_held_ = 0;
  Part first = part(zero, /*is_wide=*/true, /*is_full=*/!masks);
  Part second = part(masks ? lanes : behind, /*is_wide=*/!masks, /*is_full=*/!masks);
  planes([&](const Cursor& at) {
    plane(at, first);
    b_.begin_loop(more);
    plane(at, second);
    b_.end_loop();
  });
  b_.end_loop();
}

Value PlaneLines::word_of_rows(SizeLayout::DimField field) {
  return low_.word(low_.layout().of_dim(0, field));
}

// ---------------------------------------------------------------------------- before the loops over planes

PlaneLines::Part PlaneLines::part(Value begin, bool is_wide, bool is_full) {
  const SizeLayout& layout = low_.layout();
  const int lanes = schedule_.lanes;
  const Value first = low_.word(layout.of_dim(1, SizeLayout::first));
  const Value visible = low_.word(layout.of_dim(1, SizeLayout::visible));
  const Value column = b_.iadd(first, begin);
  Part made{begin, is_wide, Lanes::channels(lanes),
            SeenColumns(b_, column, visible, reducer_.facts().identity)};
  std::vector<int64_t> starts = {0};
  if (is_wide) starts.push_back(lanes);
  const bool are_free = masks_are_free(b_.isa());
  constexpr size_t free_masks = 4;
  const size_t spare = are_free ? free_masks : rules_.spare_vectors(2);
  const size_t registers = spare > masks_held_ ? spare - masks_held_ : 0;
  Address masks;
  if (starts.size() > registers) masks = b_.add_scratch(std::ssize(starts) * info(b_.isa()).vector_bytes);
  made.seen.hold(Type::vec(nest_.input.dtype, lanes), starts, registers, masks);
  if (starts.size() <= registers) masks_held_ += starts.size();
  made.stored.are_columns = true;
  made.stored.divisor_taps.assign(static_cast<size_t>(lanes), along_.kernel);
  if (is_full) return made;
  const Value outputs = low_.word(layout.of_dim(1, SizeLayout::outputs));
  made.stored.valid = b_.imin(b_.isub(outputs, begin), b_.iconst(lanes));
  if (are_free || spare > masks_held_)
    made.stored.valid_mask = low_.mask_of(Type::vec(nest_.output.dtype, lanes), made.stored.valid);
  return made;
}

void PlaneLines::begin_lines(Cursor cursor) {
  reducer_.plan(1, along_.kernel);
  const State none = reducer_.start(std::vector<int64_t>(static_cast<size_t>(whole_.lanes), 0));
  beyond_ = b_.vconst_splat(Type::vec(nest_.input.dtype, whole_.lanes), reducer_.facts().identity);
  nothing_ = as_keys_ ? reducer_.key(none) : reducer_.value(none);
  if (as_keys_) beyond_ = reducer_.key(reducer_.accumulate({}, beyond_, {}));
  // To a sum or a product a line outside the image adds nothing, not even to the sign of a zero.
  const Type type = b_.type(nothing_);
  if (!reducer_.facts().is_idempotent) nothing_ = b_.vconst_splat(type, neutral_bits(nest_, type.dtype));
  first_line_ = b_.add_scratch(most_lines * type.vector_bytes());
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
  low_.move(cursor.input, part.begin, byte_stride(nest_.input, 1));
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
  const Value next_row = b_.ptradd(row, low_.step(nest_.input, 0).word);
  const Value next_line = b_.ptradd(plus(to, b_.type(nothing_).vector_bytes()));
  b_.end_loop({next_row, next_line});
}

// The windows along a row.
Value PlaneLines::line_of(const Address& row, Part& part) {
  const Type type = Type::vec(nest_.input.dtype, whole_.lanes);
  const auto load = [&](int64_t start) {
    const Value x = part.seen.load(type, row, start);
    return as_keys_ ? reducer_.key(reducer_.accumulate({}, x, {})) : x;
  };
  reducer_.plan(1, as_keys_ ? 1 : along_.kernel);
  std::vector<Value> columns = {load(0)};
  columns.push_back(part.is_wide ? load(whole_.lanes) : beyond_);
  if (as_keys_) return rules_.reduction(whole_).windows(b_, reducer_, columns)[0];
  State state;
  for (int64_t tap = 0; tap < along_.kernel; ++tap) {
    const int64_t column = tap * along_.dilation;
    const Value x =
        column == 0 ? columns[0] : following_lanes(b_, columns[0], columns[1], column, whole_.lanes);
    state = reducer_.accumulate(state, x, {});
  }
  return reducer_.value(state);
}

// The windows down the plane.
void PlaneLines::join_lines(const Cursor& cursor, const Part& part) {
  const Type type = b_.type(nothing_);
  const NestDim dim = RollingOutputs::iteration_of(down_, RollingOutputs::outputs_per_iteration);
  const auto lines_from = [&](const Address& first) {
    return [this, type, first](const Position& position) {
      return Bundle{b_.load(type, at(first, position, type.vector_bytes()))};
    };
  };
  const auto store = [&](const Cursor& there, const Bundle& windows) {
    low_.store(there, as_keys_ ? reducer_.from_key(windows[0]) : State{windows[0]}, part.stored);
  };
  Cursor first_of_pair = cursor;
  const auto store_pair = [&](const Position& position, const Bundle& windows) {
    if (position.first == 0) {
      first_of_pair = cursor;
      auto step = pair_steps_.begin();
      low_.for_each_output(first_of_pair, [&](Address& address, const View&) {
        low_.move(address, position.steps[0].iv, *step++);
      });
      return store(first_of_pair, windows);
    }
    Cursor second = first_of_pair;
    low_.for_each_output(second, [&](Address& address, const View& view) {
      low_.move(address, b_.iconst(1), low_.step(view, 0));
    });
    store(second, windows);
  };
  const auto store_last = [&](const Position&, const Bundle& windows) {
    Cursor there = cursor;
    low_.for_each_output(there, [&](Address& address, const View& view) {
      low_.move(address, last_output_, low_.step(view, 0));
    });
    store(there, windows);
  };
  const auto join = [&](Value earlier, Value later) { return reducer_.join_held(earlier, later, as_keys_); };
  const std::vector<RollingOutputs::Stage> stages = {
      {word_of_rows(SizeLayout::output_pairs), RollingOutputs::outputs_per_iteration, lines_from(first_line_),
       store_pair},
      {outputs_odd_, 1, lines_from(last_line_), store_last}};
  RollingOutputs(dim, b_, reducer_.facts(), join).emit_stages({nothing_}, stages[0].load, stages);
}

}  // namespace pooljit::ir
