// row_passes: for large windows of stride 1 along the row. A vector holds neighbouring outputs of a row. The
// rows of the windows are reduced first, one vector of columns after the other, into scratch memory; then
// each row of outputs comes from passes over that (ColumnPasses). So the registers hold no more than one
// vector for each row, whatever the kernel, and columns move by addresses, where channels_first moves them by
// shuffles.
//
// unroll=R: R rows of outputs together, which share the input rows that they have in common.
#include <algorithm>
#include <optional>

#include "ir/reductions/float_keys.h"
#include "ir/schedules/column_passes.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lowering.h"
#include "ir/schedules/pixel_rows.h"
#include "ir/schedules/row_rules.h"
#include "ir/schedules/shared_rows.h"
#include "ir/schedules/stretch.h"
#include "ir/schedules/tile_lanes.h"

namespace pooljit::ir {
namespace {

constexpr LaneUse lane_use = LaneUse::moved;

constexpr size_t most_tiles = 40;  // in the code of a row
// Vectors that are needed at once beside one for each row.
constexpr int spare_registers = 7;

// Rows of pixels are rows of one channel.
PoolNest as_rows(const PoolNest& nest) { return has_pixel_rows(nest) ? as_one_channel(nest) : nest; }

bool can_serve(const PoolNest& rows, const Reducer& reducer) {
  const NestDim& row = rows.dims.back();
  return row.kind == DimKind::pool && row.stride == 1 && row.kernel > 1 && !rows.indices &&
         !rows.is_backward() && reducer.any_order() && RowRules::columns_adjacent(rows);
}

// What a row looks like under a schedule.
struct RowPlan {
  Stretch columns;
  std::vector<TileLoop> tiles;
  ColumnPasses passes;
  int64_t pitch;  // positions from line to line

  // Averages have divisors of their own at the border; where all windows have taps, others do not care.
  static Interior alike(const PoolNest& rows) {
    const NestDim& row = rows.dims.back();
    const Interior inside = interior(row);
    if (rows.reduction == Reduction::avg && !rows.divisor_override) return inside;
    const std::vector<Run> all = runs(row);
    const bool any_empty =
        std::any_of(all.begin(), all.end(), [](const Run& run) { return run.window.taps == 0; });
    return any_empty ? inside : Interior{0, row.output};
  }

  static int64_t end_of(const std::vector<TileLoop>& tiles) {
    int64_t end = 0;
    for (const TileLoop& loop : tiles)
      for (const Tile& tile : loop.tiles)
        end = std::max(end, tile.begin + (loop.count - 1) * loop.outputs + tile.lanes);
    return end;
  }

  RowPlan(const PoolNest& rows, const Schedule& schedule, const Reducer& reducer)
      : columns(stretch_of(rows.dims.back(), 0, rows.dims.back().output)),
        tiles(cut_row(rows.dims.back(), {schedule.lanes, alike(rows), schedule.tail})),
        passes(rows.dims.back(), end_of(tiles), schedule.lanes, reducer.is_idempotent()),
        // What is filled beside the columns comes in whole vectors.
        pitch(std::max(passes.positions(), columns.before + columns.inside) + schedule.lanes) {}

  int64_t lines(const Schedule& schedule) const {
    return schedule.unroll + static_cast<int64_t>(passes.lines()) - 1;
  }
  int64_t bytes(const Schedule& schedule, const Reducer& reducer) const {
    return lines(schedule) * pitch * reducer.working_bytes();
  }
  bool is_short() const { return tile_count(tiles) <= most_tiles; }
};

bool holds_group(const PoolNest& rows, const Schedule& schedule, Isa isa, const Reducer& reducer) {
  return schedule.unroll + spare_registers + extra_registers(rows, reducer) <= info(isa).vector_registers;
}

bool can_group(const PoolNest& rows, int group) {
  return group == 1 ||
         (rows.dims.size() > 1 && can_share_rows(rows.dims[rows.dims.size() - 2], group));
}

std::vector<Schedule> enumerate_row_passes(const PoolNest& nest, Isa isa, int working_bytes, size_t) {
  const PoolNest rows = as_rows(nest);
  Builder probe("", isa);
  const auto reducer = make_reducer(rows, probe, lane_use);
  std::vector<Schedule> found;
  if (!can_serve(rows, **reducer)) return found;
  Schedule schedule{.family = Family::row_passes, .order = Order::rows_first};
  const int64_t outputs = rows.dims.back().output;
  schedule.lanes = fitting_lanes(outputs, isa, working_bytes);
  schedule.tail = can_mask(nest, isa) ? Tail::mask : outputs >= schedule.lanes ? Tail::overlap : Tail::split;
  for (const int group : {8, 4, 2, 1}) {
    schedule.unroll = group;
    const RowPlan plan(rows, schedule, **reducer);
    if (can_group(rows, group) && holds_group(rows, schedule, isa, **reducer) && plan.is_short() &&
        plan.columns.inside >= schedule.lanes && plan.bytes(schedule, **reducer) <= most_scratch_bytes)
      found.push_back(schedule);
  }
  return found;
}

class RowPasses {
 public:
  RowPasses(const PoolNest& rows, const Schedule& schedule, const RowPlan& plan, Builder& builder,
            Reducer& reducer)
      : nest_(rows),
        schedule_(schedule),
        plan_(plan),
        row_(rows.dims.back()),
        outer_(rows.dims.size() - 1),
        as_keys_(std::max(row_.kernel, rows.dims[outer_ == 0 ? 0 : outer_ - 1].kernel) >= least_keyed_kernel),
        b_(builder),
        reducer_(reducer),
        low_(rows, builder, reducer, grouped()) {}

  void emit() {
    nothing_ = held(low_.no_taps(1, schedule_.lanes)[0]);
    const int64_t line_bytes = plan_.pitch * element_bytes();
    for (int64_t i = 0; i < schedule_.unroll; ++i) columns_.push_back(b_.add_scratch(line_bytes));
    for (size_t i = 1; i < plan_.passes.lines(); ++i) lines_.push_back(b_.add_scratch(line_bytes));
    low_.for_each_row(outer_, [&](const Cursor& cursor, bool group) {
      const size_t rows = group ? columns_.size() : 1;
      reduce_rows(cursor, rows);
      for (size_t row = 0; row < rows; ++row) {
        reducer_.plan(1, row_.most_taps());
        pass_over(columns_[row]);
        store(group ? low_.further(cursor, outer_ - 1, static_cast<int64_t>(row)) : cursor, columns_[row]);
      }
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
  Address position(const Address& line, int64_t number) const { return plus(line, number * element_bytes()); }
  Address position(const Address& line, int64_t first, Value iv) const {
    return plus(position(line, first), iv, schedule_.lanes * element_bytes());
  }

  // The columns of so many rows, and nothing before and behind them.
  void reduce_rows(const Cursor& cursor, size_t rows) {
    const Stretch& all = plan_.columns;
    const int64_t lanes = schedule_.lanes, behind = all.before + all.inside;
    for (size_t row = 0; row < rows; ++row) fill(columns_[row], 0, ceil_div(all.before, lanes));
    const Builder::Loop loop = b_.begin_loop(b_.iconst(all.inside / lanes));
    Cursor at = cursor;
    at.input = plus(plus(at.input, input_bytes(all.first)), loop.iv, input_bytes(lanes));
    const Values vectors = columns_of(at, rows);
    for (size_t row = 0; row < rows; ++row)
      b_.store(position(columns_[row], all.before, loop.iv), vectors[row]);
    b_.end_loop();
    if (all.inside % lanes != 0) {
      Cursor last = cursor;
      last.input = plus(last.input, input_bytes(all.first + all.inside - lanes));
      const Values rest = columns_of(last, rows);
      for (size_t row = 0; row < rows; ++row) b_.store(position(columns_[row], behind - lanes), rest[row]);
    }
    for (size_t row = 0; row < rows; ++row)
      fill(columns_[row], behind, ceil_div(plan_.passes.positions() - behind, lanes));
  }

  int64_t input_bytes(int64_t columns) const { return byte_stride(nest_.input, columns); }

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
    const int64_t taps = nest_.full_taps() / row_.most_taps();
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

  void pass_over(const Address& columns) {
    for (const ColumnPasses::Pass& pass : plan_.passes.passes()) {
      const Builder::Loop loop = b_.begin_loop(b_.iconst(pass.vectors));
      const Value first = load(line(columns, pass.from), 0, loop.iv);
      const Value second = load(line(columns, pass.from), pass.offset, loop.iv);
      b_.store(position(line(columns, pass.to), 0, loop.iv), join(first, second));
      b_.end_loop();
    }
  }

  Value load(const Address& line, int64_t first, Value iv) {
    return b_.load(b_.type(nothing_), position(line, first, iv));
  }

  void store(const Cursor& cursor, const Address& columns) {
    for (const TileLoop& tiles : plan_.tiles) {
      const Value iv = tiles.count > 1 ? b_.begin_loop(b_.iconst(tiles.count)).iv : no_value;
      for (const Tile& tile : tiles.tiles) {
        Cursor at = cursor;
        low_.for_each_output(at, [&](Address& address, const View& view) {
          address = plus(address, byte_stride(view, tile.begin * view.strides.back()));
          if (iv != no_value)
            address = plus(address, iv, byte_stride(view, tiles.outputs * view.strides.back()));
        });
        low_.store(at, window(columns, tile, tiles.outputs, iv), column_lanes(nest_, tile));
      }
      if (iv != no_value) b_.end_loop();
    }
  }

  State window(const Address& columns, const Tile& tile, int64_t step, Value iv) {
    const Type type = Type::vec(b_.type(nothing_).dtype, tile.lanes);
    Value all = no_value;
    for (const ColumnPasses::Part& part : plan_.passes.parts()) {
      Address address = position(line(columns, part.line), tile.begin + part.offset);
      if (iv != no_value) address = plus(address, iv, step * element_bytes());
      const Value x = b_.load(type, address);
      all = all == no_value ? x : join(all, x);
    }
    return as_keys_ ? reducer_.from_key(all) : State{all};
  }

  const PoolNest& nest_;
  const Schedule& schedule_;
  const RowPlan& plan_;
  const NestDim& row_;
  const size_t outer_;
  const bool as_keys_;
  Builder& b_;
  Reducer& reducer_;
  Lowering low_;
  Value nothing_ = no_value;             // a vector of no taps, as it is held
  std::vector<Address> columns_, lines_;  // in scratch memory: for each row; what else passes need
};

Result<Program> lower_row_passes(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  const PoolNest rows = as_rows(nest);
  Builder builder(print(schedule), isa);
  auto reducer = make_reducer(rows, builder, lane_use);
  if (!reducer) return tl::unexpected(reducer.error());
  if (!can_serve(rows, **reducer))
    return unsupported("schedule.windows",
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
  const RowPlan plan(rows, schedule, **reducer);
  if (plan.columns.inside < schedule.lanes)
    return unsupported("schedule.lanes", "a vector is longer than the row that windows see",
                       "use fewer lanes");
  if (schedule.tail == Tail::overlap && rows.dims.back().output < schedule.lanes)
    return unsupported("schedule.tail",
                       "an overlapping tail needs at least as many outputs in a row as lanes",
                       "use tail=mask or tail=split");
  if (!plan.is_short())
    return unsupported("schedule.code_size", "the windows of a row differ too much for straight-line code",
                       "use channels_first");
  if (plan.bytes(schedule, **reducer) > most_scratch_bytes)
    return unsupported("schedule.scratch", "the rows do not fit into scratch memory",
                       "use a smaller unroll or channels_first");
  RowPasses(rows, schedule, plan, builder, **reducer).emit();
  return builder.finish();
}

}  // namespace

const FamilyInfo row_passes_family = {Family::row_passes, "row_passes", lane_use, enumerate_row_passes,
                                      lower_row_passes};

}  // namespace pooljit::ir
