// row_passes: for large windows of stride 1 along the row. A vector holds neighbouring outputs of a row.
// The rows of the windows are reduced first, one vector of columns at a time, into scratch memory. So the
// registers hold only one vector for each row, whatever the kernel. Each row of outputs is then made from
// that line of columns:
//
//   - scan=passes: by passes over the line (ColumnPasses), which shift columns by addresses.
//   - scan=trailing: vector by vector (TrailingWindows), with what vectors share in registers. Long rows
//     are done in segments that fit into L1; each continues where the one before ended.
//   - scan=rolling_sums: sums of 8-bit integers, whose column sums roll down the image
//     (row_passes_sums.h).
//
// rows_together=R: R rows of outputs, which share input rows. Rows that are too long for scratch memory
// are done in segments.
#include <algorithm>
#include <limits>

#include "ir/reductions/float_keys.h"
#include "ir/schedule_text.h"
#include "ir/schedules/families/row_passes_rules.h"
#include "ir/schedules/families/row_passes_segments.h"
#include "ir/schedules/families/row_passes_sums.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lanes/lane_gather.h"
#include "ir/schedules/lowering/lowering.h"
#include "ir/schedules/lowering/tile_lanes.h"
#include "ir/schedules/windows/shared_rows.h"

namespace pooljit::ir {
namespace {

class RowPasses {
 public:
  RowPasses(const PoolNest& rows, const RowPassesSchedule& schedule, const std::vector<RowSegment>& segments,
            Builder& builder, Reducer& reducer)
      : nest_(rows),
        schedule_(schedule),
        segments_(segments),
        outer_(rows.dims.size() - 1),
        as_keys_(std::max(rows.dims[outer_].kernel, rows.dims[outer_ == 0 ? 0 : outer_ - 1].kernel) >=
                 least_keyed_kernel),
        b_(builder),
        reducer_(reducer),
        low_(rows, builder, reducer, grouped()) {}

  void emit() {
    nothing_ = held(low_.no_taps(1, schedule_.lanes)[0]);
    int64_t pitch = 0;
    for (const RowSegment& segment : segments_) pitch = std::max(pitch, segment.pitch);
    line_bytes_ = ceil_div(pitch * element_bytes(), scratch_alignment) * scratch_alignment;
    columns_ = b_.add_scratch(schedule_.rows_together * line_bytes_);
    if (!segments_[0].trailing) {
      for (size_t line = 1; line < segments_[0].passes.lines(); ++line)
        lines_.push_back(b_.add_scratch(line_bytes_));
    } else if (segments_.size() > 1) {
      held_bytes_ = static_cast<int64_t>(segments_[0].trailing->held()) * schedule_.lanes * element_bytes();
      held_ = b_.add_scratch(schedule_.rows_together * held_bytes_);
    }
    const auto group_rows = static_cast<size_t>(schedule_.rows_together);
    low_.for_each_row(outer_, [&](const Cursor& cursor, bool group) {
      for (const RowSegment& segment : segments_) emit_segment(segment, cursor, group ? group_rows : 1);
    });
    b_.ret();
  }

 private:
  Grouped grouped() const {
    if (schedule_.rows_together == 1) return {};
    return {outer_ - 1, schedule_.rows_together};
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

  void emit_segment(const RowSegment& segment, const Cursor& cursor, size_t rows) {
    const Value iv = segment.count > 1 ? b_.begin_loop(b_.iconst(segment.count)).iv : no_value;
    const int64_t width = segment.nest.dims.back().output;
    Cursor at = cursor;
    at.input = plus(at.input, input_bytes(segment.input));
    if (iv != no_value) at.input = plus(at.input, iv, input_bytes(width));
    move_outputs(at, segment.output, iv, width);
    reduce_rows(segment, at, rows);
    for_each_line(rows, [&](const Line& line) {
      reducer_.plan(1, nest_.dims.back().most_taps());
      if (!segment.trailing) pass_over(segment, line.columns);
      const bool is_one = line.row == no_value;
      store(segment, is_one ? at : low_.further_outputs(at, outer_ - 1, Position{}.further(line.row, 1)),
            line);
    });
    if (iv != no_value) b_.end_loop();
  }

  // The scratch memory of a row of the group.
  struct Line {
    Value row = no_value;  // a loop's counter; no_value: the only one
    Address columns, held;
  };
  template <typename Body>
  void for_each_line(size_t rows, const Body& body) {
    Line line{no_value, columns_, held_};
    if (rows > 1) {
      line.row = b_.begin_loop(b_.iconst(static_cast<int64_t>(rows))).iv;
      line.columns = plus(line.columns, line.row, line_bytes_);
      if (held_bytes_ > 0) line.held = plus(line.held, line.row, held_bytes_);
    }
    body(line);
    if (rows > 1) b_.end_loop();
  }
  Address columns(size_t row) const { return plus(columns_, static_cast<int64_t>(row) * line_bytes_); }

  void move_outputs(Cursor& cursor, int64_t outputs, Value iv, int64_t step) {
    low_.for_each_output(cursor, [&](Address& address, const View& view) {
      address = plus(address, byte_stride(view, outputs * view.strides.back()));
      if (iv != no_value) address = plus(address, iv, byte_stride(view, step * view.strides.back()));
    });
  }

  // The columns of so many rows, and nothing before and behind them.
  void reduce_rows(const RowSegment& segment, const Cursor& cursor, size_t rows) {
    const Stretch& all = segment.columns;
    const int64_t lanes = schedule_.lanes, behind = segment.before + all.inside;
    fill(rows, 0, ceil_div(segment.before, lanes));
    const Builder::Loop loop = b_.begin_loop(b_.iconst(all.inside / lanes));
    Cursor at = cursor;
    at.input = plus(at.input, loop.iv, input_bytes(lanes));
    const Values vectors = columns_of(at, rows);
    for (size_t row = 0; row < rows; ++row)
      b_.store(position(columns(row), segment.before, loop.iv), vectors[row]);
    b_.end_loop();
    if (all.inside % lanes != 0) {
      at = cursor;
      at.input = plus(at.input, input_bytes(all.inside - lanes));
      const Values last = columns_of(at, rows);
      for (size_t row = 0; row < rows; ++row) b_.store(position(columns(row), behind - lanes), last[row]);
    }
    fill(rows, behind, ceil_div(segment.positions - behind, lanes));
  }

  void fill(size_t rows, int64_t first, int64_t vectors) {
    if (vectors <= 0) return;
    for_each_line(rows, [&](const Line& line) {
      const Builder::Loop loop = b_.begin_loop(b_.iconst(vectors));
      b_.store(position(line.columns, first, loop.iv), nothing_);
      b_.end_loop();
    });
  }

  // One vector of columns for each row.
  Values columns_of(const Cursor& cursor, size_t rows) {
    const Type type = Type::vec(nest_.input.dtype, schedule_.lanes);
    const auto leaf = [&](const Lowering::States& states, const TapAt& row) {
      return Lowering::States{reducer_.accumulate(states[0], b_.load(type, row.input), row.offset)};
    };
    const auto reduce = [&](const Cursor& at, int64_t taps) {
      reducer_.plan(1, taps);
      return held(low_.reduce(at, outer_, low_.no_taps(1, schedule_.lanes), leaf, low_.straight_taps())[0]);
    };
    const int64_t taps = nest_.full_taps() / nest_.dims.back().most_taps();
    if (rows == 1) return {reduce(cursor, taps)};
    const NestDim& down = nest_.dims[outer_ - 1];
    return shared_rows(
        down, schedule_.rows_together,
        [&](int64_t first, int64_t count) {
          return reduce(low_.taps_from(cursor, outer_ - 1, first, count), taps / down.kernel * count);
        },
        [&](Value earlier, Value later) { return join(earlier, later); });
  }

  const Address& line(const Address& columns, size_t number) const {
    return number == 0 ? columns : lines_[number - 1];
  }

  void pass_over(const RowSegment& segment, const Address& columns) {
    for (const ColumnPasses::Pass& pass : segment.passes.passes()) {
      const Builder::Loop loop = b_.begin_loop(b_.iconst(pass.vectors));
      const Address& from = line(columns, pass.from);
      const Value first = b_.load(b_.type(nothing_), position(from, 0, loop.iv));
      const Value second = b_.load(b_.type(nothing_), position(from, pass.offset, loop.iv));
      b_.store(position(line(columns, pass.to), 0, loop.iv), join(first, second));
      b_.end_loop();
    }
  }

  void store(const RowSegment& segment, const Cursor& cursor, const Line& line) {
    Values held = held_before(segment, line);
    Value windows = no_value;  // of the last vector,
    int64_t end = 0;           // which ends at this output
    for (const TileLoop& tiles : segment.tiles) {
      Value iv = no_value;
      if (tiles.count > 1) {
        Builder::Loop loop = b_.begin_loop(b_.iconst(tiles.count), held);
        iv = loop.iv;
        held = std::move(loop.carried);
      }
      for (const Tile& tile : tiles.tiles) {
        Cursor at = cursor;
        move_outputs(at, tile.begin, iv, tiles.outputs);
        const auto load = [&](const Address& from, int64_t first, int lanes) {
          Address address = position(from, first);
          if (iv != no_value) address = plus(address, iv, tiles.outputs * element_bytes());
          return b_.load(Type::vec(b_.type(nothing_).dtype, lanes), address);
        };
        if (segment.trailing && tile.begin >= end) {
          windows =
              next_windows(segment, load(line.columns, ahead(segment) + tile.begin, schedule_.lanes), held);
          end = tile.begin + schedule_.lanes;
        }
        const Value all = segment.trailing ? part(windows, tile.begin - end + schedule_.lanes, tile.lanes)
                                           : joined_terms(segment, line.columns, tile, load);
        low_.store(at, as_keys_ ? reducer_.from_key(all) : State{all}, column_lanes(segment.nest, tile));
      }
      if (iv != no_value) held = b_.end_loop(held);
      end += (tiles.count - 1) * tiles.outputs;
    }
    if (&segment != &segments_.back() && segment.trailing)
      for (size_t i = 0; i < held.size(); ++i) b_.store(held_at(line, i), held[i]);
  }

  template <typename Load>
  Value joined_terms(const RowSegment& segment, const Address& columns, const Tile& tile, const Load& load) {
    Value all = no_value;
    for (const ColumnPasses::Term& term : segment.passes.terms()) {
      const Value x = load(line(columns, term.line), tile.begin + term.offset, tile.lanes);
      all = all == no_value ? x : join(all, x);
    }
    return all;
  }

  // So many lanes of a vector.
  Value part(Value vector, int64_t first, int count) {
    if (count == b_.type(vector).lanes) return vector;
    return following_lanes(b_, vector, no_value, first, count);
  }

  int64_t ahead(const RowSegment& segment) const {
    return segment.goes_on ? 0 : segment.trailing->vectors_ahead() * schedule_.lanes;
  }

  Value next_windows(const RowSegment& segment, Value columns, Values& held) {
    return segment.trailing->next(b_, held, columns,
                                  [&](Value earlier, Value later) { return join(earlier, later); });
  }

  // The partials that are held where the first windows end.
  Values held_before(const RowSegment& segment, const Line& line) {
    if (!segment.trailing) return {};
    Values held(segment.trailing->held(), nothing_);
    for (size_t i = 0; segment.goes_on && i < held.size(); ++i)
      held[i] = b_.load(b_.type(nothing_), held_at(line, i));
    for (int64_t first = 0; first < ahead(segment); first += schedule_.lanes)
      next_windows(segment, b_.load(b_.type(nothing_), position(line.columns, first)), held);
    return held;
  }

  Address held_at(const Line& line, size_t number) const {
    return position(line.held, static_cast<int64_t>(number) * schedule_.lanes);
  }

  const PoolNest& nest_;
  const RowPassesSchedule schedule_;
  const std::vector<RowSegment>& segments_;
  const size_t outer_;
  const bool as_keys_;
  Builder& b_;
  Reducer& reducer_;
  Lowering low_;
  Value nothing_ = no_value;  // a vector of no taps, as it is held
  // In scratch memory: a line for each row; what else passes need; for each row what segments hold for the
  // next one.
  Address columns_, held_;
  std::vector<Address> lines_;
  int64_t line_bytes_ = 0, held_bytes_ = 0;
};

Result<void> check(const Layer& rows, const RowPassesSchedule& schedule,
                   const std::vector<RowSegment>& segments) {
  if (segments.empty())
    return unsupported("schedule.scratch", "the windows of a segment do not fit into scratch memory",
                       "use fewer rows_together or channels_first");
  if (schedule.scan == RowPassesSchedule::Scan::rolling_sums && segments.size() > 1)
    return unsupported("schedule.scratch", "rows whose sums roll down do not fit into scratch memory whole",
                       "use scan=passes");
  if (!hold_vectors(segments, schedule))
    return unsupported("schedule.lanes", "a vector is longer than the row that windows see",
                       "use fewer lanes");
  if (schedule.tail == Tail::overlap && rows.nest().dims.back().output < schedule.lanes)
    return unsupported("schedule.tail",
                       "an overlapping tail needs at least as many outputs in a row as lanes",
                       "use tail=mask or tail=split");
  if (schedule.scan == RowPassesSchedule::Scan::trailing && !follow_each_other(segments, schedule))
    return unsupported("schedule.tail", "vectors of outputs that share columns must follow each other",
                       "use tail=mask or scan=passes");
  if (!are_short(segments))
    return unsupported("schedule.code_size", "the windows of a row differ too much for straight-line code",
                       "use channels_first");
  return {};
}

// The checks that are possible before the rows are cut.
Result<void> suit_rows(const Layer& rows) {
  if (can_take_rows(rows.nest(), rows.facts(row_passes_lanes))) return {};
  return unsupported(
      "schedule.windows",
      "row_passes needs columns that lie next to each other, windows of stride 1 along the row "
      "and of several columns, no indices and no zeros=first",
      "use channels_first or channels_last");
}

Result<void> suits_row_passes(const Layer& layer) {
  const PoolNest nest = as_rows(layer.nest());
  return suit_rows(layer.over(nest));
}

Result<void> check_windows(const Layer& rows, const Schedule& given) {
  if (auto suits = suit_rows(rows); !suits) return suits;
  const RowPassesSchedule schedule(given);
  const PoolNest& nest = rows.nest();
  const ReductionFacts& facts = rows.facts(row_passes_lanes);
  if (schedule.scan == RowPassesSchedule::Scan::rolling_sums) {
    if (!can_roll_sums(nest, schedule, facts))
      return unsupported("schedule.scan",
                         "sums roll down the image where they are of integers of 8 bits, not quantized, of "
                         "overlapping windows of a plane, at most 65536 below each other, and a column's "
                         "fits into 16 bits",
                         "use scan=passes");
    return {};
  }
  const bool fits = row_passes_registers(nest, schedule, facts) <= rows.registers();
  if (schedule.scan == RowPassesFields::Scan::trailing && !(facts.is_idempotent && fits))
    return unsupported("schedule.scan",
                       "windows share their columns where taps may be taken twice, and what they share fits "
                       "into the registers",
                       "use scan=passes");
  if (!can_group_rows(nest, schedule.rows_together))
    return unsupported("schedule.together", "the windows of so many rows have no rows in common",
                       "use fewer rows_together");
  if (!fits)
    return unsupported("schedule.registers", "the vectors of so many rows do not fit into the registers",
                       "use fewer rows_together");
  return {};
}

Result<void> check_row_passes(const Layer& layer, const Schedule& schedule) {
  const PoolNest nest = as_rows(layer.nest());
  const Layer rows = layer.over(nest);
  if (auto checked = check_windows(rows, schedule); !checked) return checked;
  const RowPassesSchedule own(schedule);
  return check(rows, own, cut_segments(nest, own, rows.facts(row_passes_lanes)));
}

Result<Program> lower_row_passes(const Layer& layer, const Schedule& schedule) {
  const PoolNest nest = as_rows(layer.nest());
  const Layer rows = layer.over(nest);
  if (const auto checked = check_windows(rows, schedule); !checked) return tl::unexpected(checked.error());
  const RowPassesSchedule own(schedule);
  const std::vector<RowSegment> segments = cut_segments(nest, own, rows.facts(row_passes_lanes));
  if (const auto checked = check(rows, own, segments); !checked) return tl::unexpected(checked.error());
  Builder builder(print(schedule), layer.isa());
  const auto reducer = make_reducer(nest, builder, row_passes_lanes);
  if (own.scan == RowPassesSchedule::Scan::rolling_sums)
    emit_rolling_sums(nest, own, segments[0], builder, **reducer);
  else
    RowPasses(nest, own, segments, builder, **reducer).emit();
  return builder.finish();
}

int registers_of_row_passes(const Layer& layer, const Schedule& given) {
  const PoolNest rows = as_rows(layer.nest());
  const int64_t needed = row_passes_registers(rows, RowPassesSchedule(given), layer.facts(row_passes_lanes));
  return static_cast<int>(std::min<int64_t>(needed, std::numeric_limits<int>::max()));
}

}  // namespace

const FamilyInfo row_passes_family = {Family::row_passes,     row_passes_lanes, all_tails,
                                      suits_row_passes,       check_row_passes, lower_row_passes,
                                      registers_of_row_passes};

}  // namespace pooljit::ir
