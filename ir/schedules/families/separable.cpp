// separable: the two innermost dimensions one after the other, for windows of stride 1 that overlap much.
// For a block of channels each row of the input is reduced along its columns into scratch memory, then
// each column of those rows along the other dimension. A vector holds the same position of neighbouring
// channels.
//
//   - scan=rolling: windows move on in registers (RollingOutputs); all rows of the image are in scratch
//     memory.
//   - scan=van_herk: van Herk's algorithm (RunningWindow), which needs few registers and costs the same
//     for every kernel; rows are done in bands that fit into scratch memory. Code for all sizes uses it,
//     in pieces of as many rows as columns, except for images of a few windows.
#include <algorithm>
#include <optional>

#include "ir/reductions/float_keys.h"
#include "ir/schedule_text.h"
#include "ir/schedules/families/separable_layout.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lowering/channel_tasks.h"
#include "ir/schedules/lowering/pieces.h"
#include "ir/schedules/lowering/roll_any_size.h"
#include "ir/schedules/windows/rolling_outputs.h"
#include "ir/schedules/windows/running_window.h"

namespace pooljit::ir {
namespace {

// Whether windows can be reduced one dimension after the other at all.
bool can_separate(const PoolNest& nest, const ReductionFacts& facts) {
  const size_t rank = nest.dims.size();
  return rank >= 2 && has_pieces(nest.dims[rank - 1]) && has_pieces(nest.dims[rank - 2]) && !nest.indices &&
         !nest.is_backward() && facts.any_order;
}

class Separable {
 public:
  Separable(const PoolNest& nest, const SeparableSchedule& schedule, const SeparableLayout& layout,
            Builder& builder, Reducer& reducer)
      : nest_(nest),
        schedule_(schedule),
        layout_(layout),
        outer_(nest.dims.size() - 2),
        band_(layout.band()),
        b_(builder),
        reducer_(reducer),
        held_(reducer, std::max(rows().kernel, columns().kernel) >= least_keyed_kernel),
        low_(nest, builder, reducer) {}

  void emit() {
    Cursor cursor = low_.start();
    plane_ = b_.add_scratch(layout_.plane() * layout_.position_bytes());
    if (!layout_.rolls()) {
      line_ = b_.add_scratch(layout_.line() * layout_.position_bytes());
      ends_ = b_.add_scratch(layout_.ends() * layout_.position_bytes());
    }
    int loops = low_.open_batch(cursor);
    loops += low_.open_dims(cursor, outer_);
    channels_.emplace(nest_, channel_cut(schedule_), b_, low_);
    low_.split_full(cursor, [&](const Cursor& at) {
      const Value few = nest_.has_any_size() ? has_few_windows() : no_value;
      channels_->for_each(channels_->origin(at), [&](const ChannelTasks::Block& block) {
        if (few == no_value) return emit_block(block.cursor, block.side);
        b_.begin_loop(few);
        emit_windows(block.cursor, block.side);
        b_.end_loop();
        b_.begin_loop(b_.isub(b_.iconst(1), few));
        emit_block(block.cursor, block.side);
        b_.end_loop();
      });
    });
    low_.close(loops);
    b_.ret();
  }

 private:
  const NestDim& rows() const { return nest_.dims[outer_]; }
  const NestDim& columns() const { return nest_.dims[outer_ + 1]; }

  // 1 for so few windows that they share less than scratch memory costs, else 0.
  Value has_few_windows() {
    constexpr int64_t few = 3;
    const Value windows = b_.imul(read_dim(low_, outer_).outputs, read_dim(low_, outer_ + 1).outputs);
    return b_.imin(b_.imax(b_.isub(b_.iconst(few + 1), windows), b_.iconst(0)), b_.iconst(1));
  }

  // One by one.
  void emit_windows(Cursor cursor, const std::vector<Slice>& side) {
    reducer_.plan(side.size(), nest_.full_taps());
    int loops = 0;
    for (size_t dim = outer_; dim < nest_.dims.size(); ++dim) {
      loops += low_.open_runs(cursor, /*task=*/false);
      loops += low_.open_outputs(cursor);
    }
    store(cursor, load(cursor, side, nest_.dims.size()), side);
    low_.close(loops);
  }

  void emit_block(const Cursor& cursor, const std::vector<Slice>& side) {
    reducer_.plan(side.size(), nest_.full_taps());
    const Bundle nothing = held_.bundle(low_.no_taps(side.size(), side[0].lanes));
    const ScratchLine plane(b_, b_.type(nothing[0]), nothing.size(), plane_);
    if (layout_.rolls())
      emit_rolling(cursor, side, nothing, plane);
    else
      emit_running(cursor, side, nothing, plane);
  }

  // --- scan=rolling

  void emit_rolling(const Cursor& cursor, const std::vector<Slice>& side, const Bundle& nothing,
                    const ScratchLine& plane) {
    const int64_t row_bytes = columns().output * plane.position_bytes();
    RollingOutputs along_columns(columns(), b_, reducer_.facts(), join_),
        along_rows(rows(), b_, reducer_.facts(), join_);
    const Position row = Position{}.further(b_.begin_loop(b_.iconst(rows().visible_input())).iv, 1);
    const Cursor from = low_.at_input(cursor, outer_, row);
    const ScratchLine to = plane.from(at(plane.first(), row, row_bytes));
    along_columns.emit(
        nothing,
        [&](const Position& position) { return load(low_.at_input(from, outer_ + 1, position), side); },
        [&](const Position& position, const Bundle& bundle) { to.store(position, bundle); });
    b_.end_loop();

    const Position column = Position{}.further(b_.begin_loop(b_.iconst(columns().output)).iv, 1);
    along_rows.divide_alike(nest_);
    const Divisors row_divisors(nest_, rows(), along_rows.looped(), b_);
    const Cursor output = at_column(cursor, column);
    const ScratchLine reduced = plane.from(at(plane.first(), column, plane.position_bytes()));
    along_rows.emit(
        nothing, [&](const Position& position) { return reduced.load(position, row_bytes); },
        [&](const Position& position, const Bundle& window) {
          store(low_.at_output(output, outer_, position, row_divisors(position)), window, side);
        });
    b_.end_loop();
  }

  // --- scan=van_herk

  // Outputs that are done at once along a dimension; in how many blocks of the kernel; and the positions that
  // their windows read before the image, in it, and behind it, with the first one inside.
  struct Piece {
    Value outputs, blocks, before, inside, behind, first;
    Value output = no_value;  // the first; none of the only piece
  };

  // Opens the pieces along a dimension. In code for one size there is one of all columns, and bands of rows
  // are tasks.
  Piece open_pieces(size_t dim, int& loops) {
    if (nest_.has_any_size()) return ++loops, open_pieces_of_size(dim);
    const NestDim& one = nest_.dims[dim];
    const int64_t most = dim == outer_ ? band_ : one.output;
    std::vector<int64_t> table;
    for (int64_t begin = 0; begin < one.output; begin += most) {
      const int64_t outputs = std::min(most, one.output - begin);
      const Stretch all = stretch_of(one, begin, outputs);
      table.insert(table.end(), {outputs, ceil_div(outputs, one.kernel), all.before, all.inside, all.behind,
                                 all.first, begin});
    }
    const int64_t pieces = ceil_div(one.output, most), row_bytes = std::ssize(table) / pieces * 8;
    Piece piece;
    const auto fields = {&piece.outputs, &piece.blocks, &piece.before, &piece.inside,
                         &piece.behind,  &piece.first,  &piece.output};
    if (pieces == 1) {
      auto number = table.begin();
      for (Value* field : fields) *field = b_.iconst(*number++);
      piece.output = no_value;
      return piece;
    }
    ++loops;
    if (bands_ < 0) bands_ = b_.add_task("rows", pieces);
    Address row{b_.param(Param::Role::table, b_.add_table(std::move(table))), {}, 0};
    low_.move(row, b_.param(Param::Role::begin, bands_), row_bytes);
    row = plus(row, b_.begin_loop(b_.param(Param::Role::count, bands_)).iv, row_bytes);
    int64_t offset = 0;
    for (Value* field : fields) {
      *field = b_.iload(plus(row, offset));
      offset += 8;
    }
    return piece;
  }

  Piece open_pieces_of_size(size_t dim) {
    const DimOfSize size = read_dim(low_, dim);
    const auto read = [&](SizeLayout::PieceField field) {
      return low_.word(low_.layout().pieces(dim, band_, field));
    };
    const Value count = read(SizeLayout::piece_count), most = read(SizeLayout::piece_outputs);
    const Value blocks = read(SizeLayout::piece_blocks), last_blocks = read(SizeLayout::last_blocks);
    const Value zero = b_.iconst(0), number = b_.begin_loop(count).iv;
    Piece piece;
    piece.output = b_.imul(number, most);
    piece.outputs = b_.imin(most, b_.isub(size.outputs, piece.output));
    const Value is_last = reaches(b_, number, b_.iadd(count, b_.iconst(-1)));
    piece.blocks = b_.iadd(blocks, b_.imul(is_last, b_.isub(last_blocks, blocks)));
    // As stretch_of() has it.
    const Value from = b_.iadd(size.first, piece.output);
    const Value length = b_.iadd(piece.outputs, b_.iconst(nest_.dims[dim].kernel - 1));
    piece.first = b_.imin(b_.imax(from, zero), size.visible);
    const Value end = b_.imin(b_.imax(b_.iadd(from, length), piece.first), size.visible);
    piece.inside = b_.isub(end, piece.first);
    piece.before = b_.imin(b_.imax(b_.isub(zero, from), zero), length);
    piece.behind = b_.isub(length, b_.iadd(piece.before, piece.inside));
    return piece;
  }

  void emit_running(const Cursor& cursor, const std::vector<Slice>& side, const Bundle& nothing,
                    const ScratchLine& plane) {
    int loops = 0;
    const Piece band = open_pieces(outer_, loops), strip = open_pieces(outer_ + 1, loops);
    Cursor first = cursor;
    move_to(band, outer_, first);
    move_to(strip, outer_ + 1, first);
    const int64_t row_bytes = layout_.columns() * plane.position_bytes();
    fill(plane, b_.imul(band.before, b_.iconst(layout_.columns())), nothing);
    Address inside = plane.first();
    low_.move(inside, band.before, row_bytes);
    reduce_rows(first, band, strip, side, nothing, plane.from(inside));
    Address behind = inside;
    low_.move(behind, band.inside, row_bytes);
    fill(plane.from(behind), b_.imul(band.behind, b_.iconst(layout_.columns())), nothing);

    const Position column = Position{}.further(b_.begin_loop(strip.outputs).iv, 1);
    const ScratchLine reduced = plane.from(at(plane.first(), column, plane.position_bytes()));
    const Cursor output = at_column(first, column, strip.output);
    const DivisorAt row_divisors = divisors(outer_, band.output);
    RunningWindow(rows().kernel, b_, join_, plane.from(ends_))
        .emit(
            band.outputs, band.blocks, nothing,
            [&](const Position& position) { return reduced.load(position, row_bytes); },
            [&](const Position& position, const Bundle& window) {
              store(low_.at_output(output, outer_, position, row_divisors(position)), window, side);
            });
    low_.close(1 + loops);
  }

  // The rows of a band that lie in the image, along their columns. from: the first position inside.
  void reduce_rows(const Cursor& from, const Piece& band, const Piece& strip, const std::vector<Slice>& side,
                   const Bundle& nothing, const ScratchLine& to) {
    const ScratchLine line = to.from(line_);
    fill(line, strip.before, nothing);
    const int64_t bytes = line.position_bytes();
    const ScratchLine inside = further(line, strip.before, bytes);
    fill(further(inside, strip.inside, bytes), strip.behind, nothing);
    const Position row = Position{}.further(b_.begin_loop(band.inside).iv, 1);
    const Cursor begin = low_.at_input(from, outer_, row);
    const Position position = Position{}.further(b_.begin_loop(strip.inside).iv, 1);
    inside.store(position, load(low_.at_input(begin, outer_ + 1, position), side));
    b_.end_loop();
    const ScratchLine row_to = to.from(at(to.first(), row, layout_.columns() * to.position_bytes()));
    RunningWindow(columns().kernel, b_, join_, to.from(ends_))
        .emit(
            strip.outputs, strip.blocks, nothing,
            [&](const Position& position) { return line.load(position); },
            [&](const Position& position, const Bundle& window) { row_to.store(position, window); });
    b_.end_loop();
  }

  // To the first position inside, and to the first output.
  void move_to(const Piece& piece, size_t dim, Cursor& cursor) {
    low_.move(cursor.input, piece.first, low_.step(nest_.input, dim));
    if (piece.output == no_value) return;
    low_.for_each_output(cursor, [&](Address& address, const View& view) {
      low_.move(address, piece.output, low_.step(view, dim));
    });
  }

  // The same line from a later position on.
  ScratchLine further(const ScratchLine& line, Value positions, int64_t bytes) {
    Address address = line.first();
    low_.move(address, positions, bytes);
    return line.from(address);
  }

  void fill(const ScratchLine& line, Value count, const Bundle& nothing) {
    if (const std::optional<int64_t> constant = b_.constant(count); constant && *constant == 0) return;
    line.store(Position{}.further(b_.begin_loop(count).iv, 1), nothing);
    b_.end_loop();
  }

  // --- both

  // A dimension's factors of the divisor of an average, by output. Positions count from `begin`; no_value:
  // from 0.
  using DivisorAt = std::function<Value(const Position&)>;
  DivisorAt divisors(size_t dim, Value begin = no_value) {
    const NestDim& one = nest_.dims[dim];
    if (!nest_.has_any_size()) return Divisors(nest_, one, {0, one.output}, b_, begin);
    return [this, &one, begin, size = read_dim(low_, dim)](const Position& output) {
      const Value first = b_.iadd(size.first, begin);  // windows are a position apart
      return divisor_taps_at(b_, nest_, one, size, b_.iadd(first, as_index(b_, output)));
    };
  }

  Cursor at_column(const Cursor& cursor, const Position& column, Value begin = no_value) {
    return low_.at_output(cursor, outer_ + 1, column, divisors(outer_ + 1, begin)(column));
  }

  // One position, over the taps of the dimensions outside.
  Bundle load(const Cursor& cursor, const std::vector<Slice>& side) { return load(cursor, side, outer_); }

  // Over the taps of dims [0, dims).
  Bundle load(const Cursor& cursor, const std::vector<Slice>& side, size_t dims) {
    const Type type = Type::vec(nest_.input.dtype, side[0].lanes);
    const auto leaf = [&](Lowering::States states, const TapAt& tap) {
      for (size_t i = 0; i < side.size(); ++i) {
        const Value x = load_channels(b_, reducer_.facts(), type,
                                      plus(tap.input, channel_bytes(nest_.input, side[i].begin)), side[i]);
        states[i] = reducer_.accumulate(states[i], x, tap.offset);
      }
      return states;
    };
    return held_.bundle(
        low_.reduce(cursor, dims, low_.no_taps(side.size(), side[0].lanes), leaf, low_.straight_taps()));
  }

  void store(const Cursor& cursor, const Bundle& windows, const std::vector<Slice>& side) {
    channels_->store(cursor, held_.states(windows, side.size()), side);
  }

  const PoolNest& nest_;
  const SeparableSchedule schedule_;
  const SeparableLayout& layout_;
  const size_t outer_;  // dimensions outside the two
  const int64_t band_;
  Builder& b_;
  Reducer& reducer_;
  const HeldStates held_;
  Lowering low_;
  const Join join_ = [this](Value earlier, Value later) { return held_.join(earlier, later); };
  std::optional<ChannelTasks> channels_;
  int bands_ = -1;               // a dimension of tasks
  Address plane_, line_, ends_;  // in scratch memory
};

Result<void> suits_separable(const Layer& layer) {
  if (can_separate(layer.nest(), layer.facts(separable_lanes))) return {};
  return unsupported("schedule.windows",
                     "separable needs dense windows of stride 1 along the two innermost dimensions, no "
                     "indices and no zeros=first",
                     "use channels_last");
}

Result<void> check_separable(const Layer& layer, const Schedule& given) {
  if (auto suits = suits_separable(layer); !suits) return suits;
  const SeparableSchedule schedule(given);
  const PoolNest& nest = layer.nest();
  const ReductionFacts& facts = layer.facts(separable_lanes);
  if (nest.has_any_size() && schedule.scan != SeparableSchedule::Scan::van_herk)
    return unsupported("schedule.sizes", "all rows of an image of any size do not fit into scratch memory",
                       "use scan=van_herk");
  if (nest.has_any_size() && (layer.adjacent_channels() < nest.channels || !SizeLayout(nest).has_pieces()))
    return unsupported("schedule.sizes", "code for all sizes needs channels that lie next to each other",
                       "use channels_first");
  if (auto checked = check_channel_tasks(nest, channel_cut(schedule)); !checked) return checked;
  if (!can_scan(nest, schedule) || !has_registers(layer, given))
    return unsupported("schedule.registers", "the windows do not fit into the vector registers",
                       "use fewer vectors_side_by_side or scan=van_herk");
  if (SeparableLayout(nest, schedule, facts.held_bytes).band() == 0)
    return unsupported("schedule.scratch", "rows of the output do not fit into scratch memory",
                       "use fewer vectors_side_by_side or scan=van_herk");
  return {};
}

Result<Program> lower_separable(const Layer& layer, const Schedule& schedule) {
  if (const auto checked = check_separable(layer, schedule); !checked) return tl::unexpected(checked.error());
  Builder builder(print(schedule), layer.isa());
  const auto reducer = make_reducer(layer.nest(), builder, separable_lanes);
  const SeparableSchedule own(schedule);
  const SeparableLayout layout(layer.nest(), own, layer.facts(separable_lanes).held_bytes);
  Separable(layer.nest(), own, layout, builder, **reducer).emit();
  return builder.finish();
}

}  // namespace

const FamilyInfo separable_family = {Family::separable, separable_lanes, tails_within,       suits_separable,
                                     check_separable,   lower_separable, separable_registers};

}  // namespace pooljit::ir
