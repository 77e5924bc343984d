// window_rows: a vector holds neighbouring taps of one window's row. When all rows are taken in, its lanes
// are reduced. For long windows, few in number, where vectors of outputs would have idle lanes: global and
// adaptive pooling of channels-first planes. The taps of a row must be adjacent. Windows of a row that
// differ in more than their place have code of their own, or each run of alike ones has. A plane without gaps
// that a window covers whole is one row. With indices each lane keeps the place of its best tap, and places
// decide between equal lanes, because taps are not taken in the window's order. Code for all sizes is in
// ir/schedules/families/window_rows_any_size.h and window_rows_lines.h.
//
// windows_together=R: the lanes of R windows are reduced together (ir/schedules/lanes/lane_fold.h). These
// are all R outputs of a row, so that the input is read row by row, or, if each channel is one window, R
// neighbouring channels.
#include <algorithm>
#include <optional>

#include "ir/schedule_text.h"
#include "ir/schedules/families/window_rows.h"
#include "ir/schedules/families/window_rows_any_size.h"
#include "ir/schedules/families/window_rows_lanes.h"
#include "ir/schedules/families/window_rows_lines.h"
#include "ir/schedules/families/window_rows_narrow.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lowering/channel_tasks.h"
#include "ir/schedules/lowering/prefetch.h"
#include "ir/schedules/windows/divisors.h"

namespace pooljit::ir {
namespace {

constexpr LaneUse window_rows_lanes = LaneUse::joined;

class WindowRows {
 public:
  // stores_indices: of a nest with indices; false where with_joined_rows() has added them.
  WindowRows(const PoolNest& nest, const WindowRowsSchedule& schedule, Builder& builder, Reducer& reducer,
             bool stores_indices)
      : nest_(nest),
        schedule_(schedule),
        row_(cut_window_row(nest, reducer.facts(), builder.isa(), schedule, row_taps(nest))),
        lanes_(schedule.lanes),
        tap_stride_(row_tap_stride(nest)),
        outputs_(static_cast<size_t>(schedule.windows_together)),
        ahead_(row_bytes_ahead(nest, builder.isa())),
        b_(builder),
        reducer_(reducer),
        low_(nest, builder, reducer),
        lanes_of_windows_(nest, builder, reducer) {
    if (NarrowRow::suits(nest, reducer.facts(), builder.isa(), lanes_))
      narrow_.emplace(nest, builder, reducer, lanes_, tap_bytes(lanes_),
                      low_.index_step(nest.dims.size() - 1),
                      [this](const Address& row, const Slice& slice) { return load(row, slice); });
    if (!stores_indices) low_.leave_indices();
  }

  void emit() {
    outputs_ > 1 && is_one_window(nest_) ? emit_channels() : emit_rows();
    b_.ret();
  }

 private:
  void emit_channels() {
    Cursor cursor = low_.start();
    int loops = low_.open_batch(cursor);
    loops += low_.open_dims(cursor, nest_.dims.size());
    const ChannelCut stored{.lanes = schedule_.windows_together,
                            .tail = can_mask(nest_, b_.isa()) ? Tail::mask : Tail::split};
    ChannelTasks channels(nest_, stored, b_, low_);
    low_.split_full(cursor, [&](const Cursor& at) {
      channels.for_each(channels.origin(at), [&](const ChannelTasks::Block& block) {
        Lowering::States folded;
        for (const Slice& slice : block.side) folded.push_back(channels_of(block.cursor, slice));
        channels.store(block.cursor, folded, block.side);
      });
    });
    low_.close(loops);
  }

  // Each lane the window of a channel.
  State channels_of(const Cursor& cursor, const Slice& slice) {
    reducer_.plan(1, nest_.full_taps() / lanes_ + 1);
    const Lowering::States fresh = fresh_states();
    LaneFold fold = lanes_of_windows_.fold();
    const int64_t count =
        slice.stored.empty() ? slice.lanes : std::count(slice.stored.begin(), slice.stored.end(), 1);
    for (int64_t i = 0; i < count; ++i) {
      Cursor at = cursor;
      at.input = plus(at.input, channel_bytes(nest_.input, slice.begin + i));
      const Lowering::States states = low_.reduce(
          at, nest_.dims.size() - 1, fresh,
          [&](const Lowering::States& before, const TapAt& tap) { return take_row(before, tap, fresh); },
          straight_rows(1));
      fold.add(reducer_.value(states[0]));
    }
    return {fold.finish()};
  }

  void emit_rows() {
    Cursor cursor = low_.start();
    int loops = low_.open_batch(cursor);
    loops += low_.open_channels(cursor);
    const size_t last = nest_.dims.size() - 1;
    loops += low_.open_dims(cursor, last);
    if (are_windows_unlike(nest_)) {
      low_.split_full(cursor, [&](const Cursor& at) { emit_unlike(at); });
      return low_.close(loops);
    }
    loops += low_.open_runs(cursor, /*task=*/last == 0);
    low_.split_full(cursor, [&](Cursor at) {
      const int outputs = outputs_ == 1 ? low_.open_outputs(at) : 0;
      emit_windows(at);
      low_.close(outputs);
    });
    low_.close(loops);
  }

  // The outputs of a row, each, or each run of them, by code of its own.
  void emit_unlike(const Cursor& cursor) {
    const size_t last = nest_.dims.size() - 1;
    const NestDim& dim = nest_.dims[last];
    for (const Run& run : unlike_runs(nest_, reducer_.facts(), lanes_)) {
      const Window& window = run.window;
      const int64_t output = run.begin * dim.period().output + run.phase;
      Cursor at = low_.further_outputs(low_.at_input(cursor, last, {window.first}), last, {output});
      at.windows.push_back(low_.usual_window(last));
      WindowAt& here = at.windows.back();
      here.divisor_taps = b_.iconst(divisor_taps(nest_, window));
      here.first = b_.iconst(window.first);
      here.first_tap = b_.iconst(window.first_tap);
      here.periods = b_.iconst(run.end - run.begin);
      here.phases = b_.iconst(run.phases);
      row_ = cut_window_row(nest_, reducer_.facts(), b_.isa(), schedule_, window.taps);
      const int loops = run.outputs() == 1 ? 0 : low_.open_outputs(at);
      emit_windows(at);
      low_.close(loops);
    }
  }

  Lowering::States fresh_states() {
    Lowering::States fresh;
    for (const int own : narrow_ ? narrow_->wide_lanes() : row_.state_lanes)
      fresh.push_back(reducer_.start(std::vector<int64_t>(static_cast<size_t>(own), 0)));
    return fresh;
  }

  // Each output has states of its own.
  void emit_windows(const Cursor& cursor) {
    const size_t states_each = narrow_ ? narrow_->wide_lanes().size() : row_.state_lanes.size();
    reducer_.plan(outputs_ * states_each, nest_.full_taps() / lanes_ + 1);
    const Lowering::States fresh = fresh_states();
    const auto of_output = [&](const Lowering::States& all, size_t output) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(output * states_each);
      return Lowering::States(begin, begin + static_cast<std::ptrdiff_t>(states_each));
    };
    const auto leaf = [&](const Lowering::States& states, const TapAt& at) {
      Lowering::States taken;
      for (size_t output = 0; output < outputs_; ++output) {
        TapAt row = at;
        row.input = plus(row.input, input_bytes(output));
        const Lowering::States own = take_row(of_output(states, output), row, fresh);
        taken.insert(taken.end(), own.begin(), own.end());
      }
      return taken;
    };
    Lowering::States all_fresh;
    for (size_t output = 0; output < outputs_; ++output)
      all_fresh.insert(all_fresh.end(), fresh.begin(), fresh.end());
    const Lowering::States states =
        low_.reduce(cursor, nest_.dims.size() - 1, all_fresh, leaf, straight_rows(outputs_));
    if (outputs_ == 1) return low_.store(cursor, lanes_of_windows_.join(states), Lanes::channels(1));
    LaneFold fold = lanes_of_windows_.fold();
    for (size_t output = 0; output < outputs_; ++output)
      fold.add(lanes_of_windows_.joined(of_output(states, output)));
    lanes_of_windows_.store_row(low_, cursor, fold.finish(), static_cast<int64_t>(outputs_), no_value);
  }

  // Rows of a window in straight-line code, of so many windows at once.
  int64_t straight_rows(size_t windows) const {
    return std::max<int64_t>(1, std::min(unroll_rows, low_.straight_taps()) / static_cast<int64_t>(windows));
  }

  // From the first output's window to another's.
  int64_t input_bytes(size_t output) const {
    const int64_t positions = static_cast<int64_t>(output) * nest_.dims.back().period().input;
    return byte_stride(nest_.input, nest_.input.strides.back() * positions);
  }

  Lowering::States take_row(const Lowering::States& states, const TapAt& row, const Lowering::States& fresh) {
    if (narrow_) return narrow_->take(states, row_, row);
    const bool joins = !states[0].empty() && row_.is_part(reducer_.facts());
    Lowering::States taken = joins ? Lowering::States(states.size()) : states;
    if (row_.groups > 0) {
      if (taken[0].empty()) taken = fresh;
      take_groups(taken, row, fresh);
    }
    for (size_t i = 0; i < row_.slices.size(); ++i) {
      State& state = taken[row_.state_of[i]];
      const Slice& slice = row_.slices[i];
      if (ahead_ > 0) b_.prefetch(plus(row.input, tap_bytes(slice.begin) + ahead_));
      state = reducer_.accumulate(state, load(row.input, slice), offset(row.offset, slice));
    }
    for (size_t i = 0; joins && i < states.size(); ++i) taken[i] = reducer_.combine(states[i], taken[i]);
    return taken;
  }

  int64_t tap_bytes(int64_t taps) const { return byte_stride(nest_.input, taps * tap_stride_); }

  // With indices: where the taps of a slice lie, seen from the first of the window.
  TapOffset offset(TapOffset row, const Slice& slice) {
    if (!nest_.indices) return {};
    const int64_t step = low_.index_step(nest_.dims.size() - 1);
    const bool skips = !slice.stored.empty() && schedule_.tail == Tail::mask;
    std::vector<int64_t> lanes;
    for (int64_t lane = 0; lane < slice.lanes; ++lane)
      // A lane without a tap never beats the one that it names.
      lanes.push_back(skips && slice.stored[static_cast<size_t>(lane)] == 0 ? 0 : lane * step);
    const Value ramp = b_.vconst(Type::vec(reducer_.facts().offset_dtype, slice.lanes), lanes);
    row.vec = row.vec == no_value ? ramp : b_.binary(Op::add, row.vec, ramp);
    row.constant += slice.begin * step;
    return row;
  }

  // The loop over whole vectors.
  void take_groups(Lowering::States& states, const TapAt& row, const Lowering::States& fresh) {
    const size_t together = row_.group_vectors;
    const Slice vector{0, lanes_, {}};
    const auto pack = [&](const TapOffset& at) {
      Values values;
      if (nest_.indices) values.push_back(moved(at));
      for (size_t i = 0; i < together; ++i) {
        const State settled = reducer_.settle(states[i]);
        values.insert(values.end(), settled.begin(), settled.end());
      }
      return values;
    };
    const auto unpack = [&](const Values& values) {
      auto value = values.begin() + (nest_.indices ? 1 : 0);
      for (size_t i = 0; i < together; ++i) {
        const auto size = static_cast<std::ptrdiff_t>(fresh[i].size());
        states[i].assign(value, value + size);
        value += size;
      }
    };
    const int64_t vector_bytes = tap_bytes(lanes_);
    const auto loop = b_.begin_loop(b_.iconst(row_.groups), pack(offset(row.offset, vector)));
    unpack(loop.carried);
    TapOffset at;
    if (nest_.indices) at.vec = loop.carried[0];
    const int64_t step = lanes_ * low_.index_step(nest_.dims.size() - 1);
    const Address group = plus(row.input, loop.iv, vector_bytes * static_cast<int64_t>(together));
    for (size_t i = 0; i < together; ++i) {
      const Address taps = plus(group, vector_bytes * static_cast<int64_t>(i));
      states[i] = reducer_.accumulate(states[i], load(taps, vector), at);
      at.constant += step;
    }
    unpack(b_.end_loop(pack(at)));
  }

  // The offset as one vector.
  Value moved(const TapOffset& at) {
    if (at.constant == 0) return at.vec;
    return b_.binary(Op::add, at.vec, b_.vconst_splat(b_.type(at.vec), at.constant));
  }

  Value load(const Address& row, const Slice& slice) {
    const Type type = Type::vec(nest_.input.dtype, slice.lanes);
    const Address address = plus(row, tap_bytes(slice.begin));
    const bool overlaps = schedule_.tail == Tail::overlap, takes_twice = reducer_.facts().is_idempotent;
    if (tap_stride_ != 1)
      return load_lanes(b_, type, address, tap_stride_,
                        overlaps && takes_twice ? std::span<const int64_t>() : slice.stored,
                        reducer_.facts().identity);
    if (slice.stored.empty() || (overlaps && takes_twice)) return b_.load(type, address);
    const Value mask = b_.vmask(type.mask_of(), slice.stored);
    const Value nothing = b_.vconst_splat(type, reducer_.facts().identity);
    if (!overlaps) return b_.load(type, address, mask, nothing);
    const Value loaded = b_.load(type, address);
    return b_.select(mask, loaded, nothing);
  }

  const PoolNest& nest_;
  const WindowRowsSchedule schedule_;
  WindowRow row_;  // of the window at hand
  const int lanes_;
  const int64_t tap_stride_;  // elements from a tap of a row to the next
  const size_t outputs_;      // side by side
  const int64_t ahead_;
  Builder& b_;
  Reducer& reducer_;
  Lowering low_;
  WindowLanes lanes_of_windows_;
  std::optional<NarrowRow> narrow_;
};

Result<void> no_rows_of_windows() {
  return unsupported(
      "schedule.strides",
      "window_rows needs rows of at least four taps, channels that do not lie next to each other, as many "
      "taps in all windows or at most 64 windows, or runs of alike ones, in a row, no zeros=first without "
      "indices, no indices by "
      "columns, and with indices no more lanes than taps",
      "use channels_last or channels_first");
}

Result<void> suits_window_rows(const Layer& layer) {
  if (has_rows_of_windows(with_joined_rows(layer), layer.facts(window_rows_lanes))) return {};
  return no_rows_of_windows();
}

Result<void> check_window_rows(const Layer& layer, const Schedule& given) {
  const WindowRowsSchedule schedule(given);
  const PoolNest nest = with_joined_rows(layer);
  const ReductionFacts& facts = layer.facts(window_rows_lanes);
  if (WindowLines::suits(nest)) return WindowLines::check(layer, schedule);
  if (nest.has_any_size()) return WindowRowsAnySize::check(layer, schedule);
  if (!can_take_rows_of_windows(nest, facts, schedule.lanes)) return no_rows_of_windows();
  if (NarrowRow::suits(nest, facts, layer.isa(), schedule.lanes) &&
      row_taps(nest) > NarrowRow::most_vectors * schedule.lanes)
    return no_rows_of_windows();
  if (schedule.windows_together > 1 && !can_do_windows_together(nest, facts, layer.isa(), schedule))
    return unsupported(
        "schedule.together",
        "window_rows does one output at a time, or side by side, in vectors of equal lanes, all of a row "
        "whose windows are held in registers, or 2, 4 or 8 neighbouring channels of one short window each",
        "use windows_together=1, or as many as a row has outputs");
  const bool are_whole = !are_windows_unlike(nest) && row_taps(nest) % schedule.lanes == 0;
  if (nest.indices && schedule.tail == Tail::split && !are_whole)
    return unsupported("schedule.tail", "with indices all vectors of a row have equal lanes",
                       "use tail=mask or tail=overlap");
  if (schedule.tail == Tail::overlap && least_row_taps(nest) < schedule.lanes)
    return unsupported("schedule.tail", "an overlapping tail needs a whole vector before it",
                       "use tail=mask or tail=split");
  return {};
}

Result<Program> lower_window_rows(const Layer& layer, const Schedule& schedule) {
  if (const auto checked = check_window_rows(layer, schedule); !checked)
    return tl::unexpected(checked.error());
  const PoolNest nest = with_joined_rows(layer);
  Builder builder(print(schedule), layer.isa());
  const bool by_lines = WindowLines::suits(nest), has_indices = layer.nest().indices.has_value();
  const auto reducer = make_reducer(nest, builder, by_lines ? LaneUse::moved : window_rows_lanes);
  if (by_lines)
    WindowLines(nest, WindowRowsSchedule(schedule), builder, **reducer).emit();
  else if (nest.has_any_size())
    WindowRowsAnySize(nest, WindowRowsSchedule(schedule), builder, **reducer, has_indices).emit();
  else
    WindowRows(nest, WindowRowsSchedule(schedule), builder, **reducer, has_indices).emit();
  return builder.finish();
}

}  // namespace

const FamilyInfo window_rows_family = {Family::window_rows, window_rows_lanes, all_tails, suits_window_rows,
                                       check_window_rows,   lower_window_rows, nullptr};

}  // namespace pooljit::ir
