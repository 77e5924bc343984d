// row_passes: for large windows of stride 1 along the row. A vector holds neighbouring outputs of a row. The
// rows of the windows are reduced first, one vector of columns after the other, into scratch memory; then
// each row of outputs comes from passes over that (ColumnPasses). So the registers hold no more than one
// vector for each row, whatever the kernel, and columns move by addresses, where channels_first moves them by
// shuffles.
//
// unroll=R: R rows of outputs together, which share the input rows that they have in common. Rows that are
// too long for scratch memory are done in strips.
#include <algorithm>
#include <array>

#include "ir/reductions/float_keys.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lowering.h"
#include "ir/schedules/pixel_rows.h"
#include "ir/schedules/pixel_strips.h"
#include "ir/schedules/row_rules.h"
#include "ir/schedules/row_strips.h"
#include "ir/schedules/shared_rows.h"
#include "ir/schedules/tile_lanes.h"

namespace pooljit::ir {
namespace {

constexpr LaneUse lane_use = LaneUse::moved;

// Rows that are best done together.
constexpr int64_t high_window = 9;
constexpr int64_t least_kernel = 5;   // of those that it pays for
constexpr int64_t most_reach = 2048;  // elements of a row of pixels that a window may reach over
// Vectors that are needed at once beside one for each row.
constexpr int spare_registers = 7;

// Rows of pixels are rows of one channel.
PoolNest as_rows(const PoolNest& nest) { return has_pixel_rows(nest) ? as_one_channel(nest) : nest; }

bool have_passes(const NestDim& row) {
  return row.kind == DimKind::pool && row.stride == 1 && row.kernel > 1;
}

bool can_serve(const PoolNest& rows, const Reducer& reducer) {
  return have_passes(rows.dims.back()) && !rows.indices && !rows.is_backward() && reducer.any_order() &&
         RowRules::columns_adjacent(rows);
}

bool holds_group(const PoolNest& rows, const Schedule& schedule, Isa isa, const Reducer& reducer) {
  return schedule.unroll + spare_registers + extra_registers(rows, reducer) <= info(isa).vector_registers;
}

bool can_group(const PoolNest& rows, int group) {
  return group == 1 || (rows.dims.size() > 1 && can_share_rows(rows.dims[rows.dims.size() - 2], group));
}

// Where it is offered, from least_kernel on: where channels_first lacks the registers for what windows share,
// so that it takes tap by tap. Found by measuring planes of 19 to 224 columns and windows of 5 to 31.
// Also where channels lie next to each other in images that outgrow a core's own caches: rows are read whole.
bool pays(const PoolNest& nest, const PoolNest& rows, const Schedule& schedule, Isa isa,
          const Reducer& reducer) {
  const NestDim& row = rows.dims.back();
  const int element = bytes(rows.input.dtype);
  if (nest.channels > rows.channels && prefers_whole_rows(nest))
    return element > 1 && row.kernel * nest.channels <= most_reach &&
           (reducer.is_idempotent() || row.kernel >= 7);
  if (info(isa).vector_registers < 32)
    return (row.kernel >= 7 || row.output >= 32) &&
           best_side_by_side(rows, isa, reducer, schedule.lanes) == 1;
  const bool narrow = element == 2 || (element == 1 && !reducer.is_idempotent());
  if (row.kernel <= 16) return narrow && row.output >= 128;
  // Shuffles of bytes that move 64 of them cost less than loads that straddle cache lines.
  return !reducer.is_idempotent() || element > 1 || row.output < 16 * schedule.lanes;
}

std::vector<Schedule> enumerate_row_passes(const PoolNest& nest, Isa isa, int working_bytes, size_t) {
  std::vector<Schedule> found;
  if (!have_passes(nest.dims.back()) || nest.dims.back().kernel < least_kernel) return found;
  const PoolNest rows = as_rows(nest);
  Builder probe("", isa);
  const auto reducer = make_reducer(rows, probe, lane_use);
  if (!can_serve(rows, **reducer)) return found;
  const NestDim& row = rows.dims.back();
  Schedule schedule{.family = Family::row_passes, .order = Order::rows_first};
  schedule.lanes = fitting_lanes(row.output, isa, working_bytes);
  while (schedule.lanes > stretch_of(row, 0, row.output).inside && schedule.lanes > 1) schedule.lanes /= 2;
  schedule.tail = can_mask(nest, isa)            ? Tail::mask
                  : row.output >= schedule.lanes ? Tail::overlap
                                                 : Tail::split;
  if (!pays(nest, rows, schedule, isa, **reducer)) return found;
  const bool high = rows.dims.size() > 1 && rows.dims[rows.dims.size() - 2].kernel >= high_window;
  for (const int group : high ? std::array{8, 4, 2, 1} : std::array{4, 2, 8, 1}) {
    schedule.unroll = group;
    if (!can_group(rows, group) || !holds_group(rows, schedule, isa, **reducer)) continue;
    const std::vector<RowStrip> strips = cut_strips(rows, schedule, **reducer);
    if (!strips.empty() && are_short(strips) && hold_vectors(strips, schedule)) found.push_back(schedule);
  }
  return found;
}

class RowPasses {
 public:
  RowPasses(const PoolNest& rows, const Schedule& schedule, const std::vector<RowStrip>& strips,
            Builder& builder, Reducer& reducer)
      : nest_(rows),
        schedule_(schedule),
        strips_(strips),
        outer_(rows.dims.size() - 1),
        as_keys_(std::max(rows.dims[outer_].kernel, rows.dims[outer_ == 0 ? 0 : outer_ - 1].kernel) >=
                 least_keyed_kernel),
        b_(builder),
        reducer_(reducer),
        low_(rows, builder, reducer, grouped()) {}

  void emit() {
    nothing_ = held(low_.no_taps(1, schedule_.lanes)[0]);
    int64_t pitch = 0;
    for (const RowStrip& strip : strips_) pitch = std::max(pitch, strip.pitch);
    const auto add = [&](std::vector<Address>& lines, size_t count) {
      while (lines.size() < count) lines.push_back(b_.add_scratch(pitch * element_bytes()));
    };
    add(columns_, static_cast<size_t>(schedule_.unroll));
    add(lines_, strips_[0].passes.lines() - 1);
    low_.for_each_row(outer_, [&](const Cursor& cursor, bool group) {
      for (const RowStrip& strip : strips_) emit_strip(strip, cursor, group ? columns_.size() : 1);
    });
    b_.ret();
  }

 private:
  Grouped grouped() const {
    if (schedule_.unroll == 1) return {};
    return {outer_ - 1, schedule_.unroll};
  }

  Value held(const State& state) { return as_keys_ ? reducer_.key(state) : reducer_.value(state); }
  Value join(Value earlier, Value later) { return reducer_.join_held(earlier, later, as_keys_); }

  int64_t element_bytes() const { return bytes(b_.type(nothing_).dtype); }
  int64_t input_bytes(int64_t columns) const { return byte_stride(nest_.input, columns); }
  Address position(const Address& line, int64_t number) const { return plus(line, number * element_bytes()); }
  // The iv counts vectors.
  Address position(const Address& line, int64_t first, Value iv) const {
    return plus(position(line, first), iv, schedule_.lanes * element_bytes());
  }

  void emit_strip(const RowStrip& strip, const Cursor& cursor, size_t rows) {
    const Value iv = strip.count > 1 ? b_.begin_loop(b_.iconst(strip.count)).iv : no_value;
    const int64_t width = strip.nest.dims.back().output;
    Cursor at = cursor;
    at.input = plus(at.input, input_bytes(strip.input));
    if (iv != no_value) at.input = plus(at.input, iv, input_bytes(width));
    move_outputs(at, strip.output, iv, width);
    reduce_rows(strip, at, rows);
    for (size_t row = 0; row < rows; ++row) {
      reducer_.plan(1, nest_.dims.back().most_taps());
      pass_over(strip, columns_[row]);
      store(strip, rows == 1 ? at : low_.further(at, outer_ - 1, static_cast<int64_t>(row)), columns_[row]);
    }
    if (iv != no_value) b_.end_loop();
  }

  void move_outputs(Cursor& cursor, int64_t outputs, Value iv, int64_t step) {
    low_.for_each_output(cursor, [&](Address& address, const View& view) {
      address = plus(address, byte_stride(view, outputs * view.strides.back()));
      if (iv != no_value) address = plus(address, iv, byte_stride(view, step * view.strides.back()));
    });
  }

  // The columns of so many rows, and nothing before and behind them.
  void reduce_rows(const RowStrip& strip, const Cursor& cursor, size_t rows) {
    const Stretch& all = strip.columns;
    const int64_t lanes = schedule_.lanes, behind = all.before + all.inside;
    for (size_t row = 0; row < rows; ++row) fill(columns_[row], 0, ceil_div(all.before, lanes));
    const Builder::Loop loop = b_.begin_loop(b_.iconst(all.inside / lanes));
    Cursor at = cursor;
    at.input = plus(at.input, loop.iv, input_bytes(lanes));
    const Values vectors = columns_of(at, rows);
    for (size_t row = 0; row < rows; ++row)
      b_.store(position(columns_[row], all.before, loop.iv), vectors[row]);
    b_.end_loop();
    if (all.inside % lanes != 0) {
      at = cursor;
      at.input = plus(at.input, input_bytes(all.inside - lanes));
      const Values last = columns_of(at, rows);
      for (size_t row = 0; row < rows; ++row) b_.store(position(columns_[row], behind - lanes), last[row]);
    }
    for (size_t row = 0; row < rows; ++row)
      fill(columns_[row], behind, ceil_div(strip.passes.positions() - behind, lanes));
  }

  void fill(const Address& line, int64_t first, int64_t vectors) {
    if (vectors <= 0) return;
    const Builder::Loop loop = b_.begin_loop(b_.iconst(vectors));
    b_.store(position(line, first, loop.iv), nothing_);
    b_.end_loop();
  }

  // One vector of columns for each row.
  Values columns_of(const Cursor& cursor, size_t rows) {
    const Type type = Type::vec(nest_.input.dtype, schedule_.lanes);
    const auto leaf = [&](const Lowering::States& states, const TapAt& row) {
      return Lowering::States{reducer_.accumulate(states[0], b_.load(type, row.input), row.offset)};
    };
    const auto reduce = [&](const Cursor& at, int64_t taps) {
      reducer_.plan(1, taps);
      return held(low_.reduce(at, outer_, low_.no_taps(1, schedule_.lanes), leaf, Lowering::unroll_taps)[0]);
    };
    const int64_t taps = nest_.full_taps() / nest_.dims.back().most_taps();
    if (rows == 1) return {reduce(cursor, taps)};
    const NestDim& down = nest_.dims[outer_ - 1];
    return shared_rows(
        down, schedule_.unroll,
        [&](int64_t first, int64_t count) {
          return reduce(low_.taps_from(cursor, outer_ - 1, first, count), taps / down.kernel * count);
        },
        [&](Value earlier, Value later) { return join(earlier, later); });
  }

  const Address& line(const Address& columns, size_t number) const {
    return number == 0 ? columns : lines_[number - 1];
  }

  void pass_over(const RowStrip& strip, const Address& columns) {
    for (const ColumnPasses::Pass& pass : strip.passes.passes()) {
      const Builder::Loop loop = b_.begin_loop(b_.iconst(pass.vectors));
      const Address& from = line(columns, pass.from);
      const Value first = b_.load(b_.type(nothing_), position(from, 0, loop.iv));
      const Value second = b_.load(b_.type(nothing_), position(from, pass.offset, loop.iv));
      b_.store(position(line(columns, pass.to), 0, loop.iv), join(first, second));
      b_.end_loop();
    }
  }

  void store(const RowStrip& strip, const Cursor& cursor, const Address& columns) {
    for (const TileLoop& tiles : strip.tiles) {
      const Value iv = tiles.count > 1 ? b_.begin_loop(b_.iconst(tiles.count)).iv : no_value;
      for (const Tile& tile : tiles.tiles) {
        Cursor at = cursor;
        move_outputs(at, tile.begin, iv, tiles.outputs);
        low_.store(at, window(strip, columns, tile, tiles.outputs, iv), column_lanes(strip.nest, tile));
      }
      if (iv != no_value) b_.end_loop();
    }
  }

  State window(const RowStrip& strip, const Address& columns, const Tile& tile, int64_t step, Value iv) {
    const Type type = Type::vec(b_.type(nothing_).dtype, tile.lanes);
    Value all = no_value;
    for (const ColumnPasses::Part& part : strip.passes.parts()) {
      Address address = position(line(columns, part.line), tile.begin + part.offset);
      if (iv != no_value) address = plus(address, iv, step * element_bytes());
      const Value x = b_.load(type, address);
      all = all == no_value ? x : join(all, x);
    }
    return as_keys_ ? reducer_.from_key(all) : State{all};
  }

  const PoolNest& nest_;
  const Schedule& schedule_;
  const std::vector<RowStrip>& strips_;
  const size_t outer_;
  const bool as_keys_;
  Builder& b_;
  Reducer& reducer_;
  Lowering low_;
  Value nothing_ = no_value;              // a vector of no taps, as it is held
  std::vector<Address> columns_, lines_;  // in scratch memory: for each row; what else passes need
};

Result<Program> lower_row_passes(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  const PoolNest rows = as_rows(nest);
  Builder builder(print(schedule), isa);
  auto reducer = make_reducer(rows, builder, lane_use);
  if (!reducer) return tl::unexpected(reducer.error());
  if (!can_serve(rows, **reducer))
    return unsupported(
        "schedule.windows",
        "row_passes needs columns that lie next to each other, windows of stride 1 along the row "
        "and of several columns, no indices and no zeros=first",
        "use channels_first or channels_last");
  if (schedule.order != Order::rows_first || schedule.taps != Taps::unroll)
    return unsupported("schedule.order", "row_passes takes the rows of a window first",
                       "use order=rows_first, taps=unroll");
  if (!can_group(rows, schedule.unroll))
    return unsupported("schedule.unroll", "the windows of so many rows have no rows in common",
                       "use a smaller unroll");
  if (!holds_group(rows, schedule, isa, **reducer))
    return unsupported("schedule.registers", "the vectors of so many rows do not fit into the registers",
                       "use a smaller unroll");
  const std::vector<RowStrip> strips = cut_strips(rows, schedule, **reducer);
  if (strips.empty())
    return unsupported("schedule.scratch", "the windows of a strip do not fit into scratch memory",
                       "use a smaller unroll or channels_first");
  if (!hold_vectors(strips, schedule))
    return unsupported("schedule.lanes", "a vector is longer than the row that windows see",
                       "use fewer lanes");
  if (schedule.tail == Tail::overlap && rows.dims.back().output < schedule.lanes)
    return unsupported("schedule.tail",
                       "an overlapping tail needs at least as many outputs in a row as lanes",
                       "use tail=mask or tail=split");
  if (!are_short(strips))
    return unsupported("schedule.code_size", "the windows of a row differ too much for straight-line code",
                       "use channels_first");
  RowPasses(rows, schedule, strips, builder, **reducer).emit();
  return builder.finish();
}

}  // namespace

const FamilyInfo row_passes_family = {Family::row_passes, "row_passes", lane_use, enumerate_row_passes,
                                      lower_row_passes};

}  // namespace pooljit::ir
