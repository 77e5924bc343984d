// whole_pixels: large windows that do not overlap, over adjacent channels. The pixels of a window are read
// whole, a few at a time, in memory order; the partial results of all channels are in scratch memory. So
// memory is read in long contiguous stretches, which hardware prefetches. With partial results in
// registers, a pass would read only a slice of each pixel. A vector holds neighbouring channels.
//
//   - pixels_along=column takes pixels below each other: several rows at once, each a long stretch.
//   - pixels_along=row takes neighbours in a row.
#include <algorithm>
#include <optional>

#include "ir/schedule_text.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lowering/channel_tasks.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {
namespace {

constexpr LaneUse whole_pixels_lanes = LaneUse::fixed;

// Pixels that are taken at a time: what scratch memory costs is shared by them. No field: 4 to 16 take the
// same time, to 1.5 % (Sapphire Rapids).
constexpr int64_t most_pixels_together = 8;

using WholePixelsSchedule = ScheduleOf<WholePixelsFields>;

int64_t state_bytes(const PoolNest& nest, const WholePixelsSchedule& schedule, const ReductionFacts& facts) {
  return (channel_vectors(nest, schedule.lanes) + schedule.vectors_side_by_side) * schedule.lanes *
         facts.held_bytes;
}

bool can_serve(const PoolNest& nest, const ReductionFacts& facts) {
  const bool sums_long_rows = facts.is_split && std::any_of(nest.dims.begin(), nest.dims.end(), is_long);
  return nest.channels <= most_scratch_bytes && !nest.indices && !nest.is_backward() && facts.any_order &&
         !sums_long_rows;
}

// States of one window at two levels, if sums are split.
int levels(const ReductionFacts& facts) { return facts.is_split ? 2 : 1; }

// A vector needs registers for its state and a tap, and sometimes for its state before the tap.
int whole_pixels_registers(const Layer& layer, const Schedule& given) {
  constexpr int vectors_of_state = 3, of_constants = 3;
  const WholePixelsSchedule schedule(given);
  const ReductionFacts& facts = layer.facts(whole_pixels_lanes);
  const auto beside = static_cast<int>(
      std::min<int64_t>(schedule.vectors_side_by_side, channel_vectors(layer.nest(), schedule.lanes)));
  return vectors_of_state * static_cast<int>(facts.held_vectors) * beside + of_constants +
         extra_registers(layer.nest(), facts);
}

class WholePixels {
 public:
  WholePixels(const PoolNest& nest, const WholePixelsSchedule& schedule, Builder& builder, Reducer& reducer)
      : nest_(nest),
        schedule_(schedule),
        last_(nest.dims.size() - 1),
        along_(schedule.pixels_along == WholePixelsSchedule::Along::column ? last_ - 1 : last_),
        b_(builder),
        reducer_(reducer),
        held_(reducer, false),
        low_(nest, builder, reducer) {
    const int64_t bytes = state_bytes(nest, schedule, reducer.facts());
    window_ = b_.add_scratch(bytes);
    if (levels(reducer.facts()) == 2) row_ = b_.add_scratch(bytes);
  }

  void emit() {
    Cursor cursor = low_.start();
    int loops = low_.open_batch(cursor);
    loops += low_.open_dims(cursor, last_ + 1);
    channels_.emplace(nest_, channel_cut(schedule_), b_, low_);
    low_.split_full(cursor, [&](const Cursor& at) { emit_window(at); });
    low_.close(loops);
    b_.ret();
  }

 private:
  using Origin = ChannelTasks::Origin;
  using Block = ChannelTasks::Block;

  void emit_window(const Cursor& cursor) {
    const Origin window = channels_->origin(cursor);
    clear(window, window_);
    Origin taps = window;
    for (size_t i = 0; i < along_; ++i) step(taps, i, b_.begin_loop(cursor.windows[i].taps).iv, 1);
    emit_taps(taps);
    low_.close(static_cast<int>(along_));
    channels_->for_each(window, [&](const Block& block) {
      const Bundle states = line(block, window_).load({});
      channels_->store(block.cursor, held_.states(states, block.side.size()), block.side);
    });
  }

  void emit_taps(const Origin& origin) {
    if (along_ == last_)
      return sweep(origin, has_one_part(origin), [&](const Address& to) {
        for_each_part(origin, [&](const Origin& at, int64_t pixels) { take_into(to, at, pixels); });
      });
    for_each_part(origin, [&](Origin at, int64_t rows) {
      sweep(at, along_ == 0 && has_one_part(origin), [&](const Address& to) {
        step(at, last_, b_.begin_loop(at.first.windows[last_].taps).iv, 1);
        take_into(to, at, rows);
        low_.close(1);
      });
    });
  }

  // Sums of one sweep join the window's when they are done, unless they are few.
  template <typename Emit>
  void sweep(const Origin& origin, bool is_short, const Emit& emit) {
    if (!reducer_.facts().is_split || is_short) return emit(window_);
    clear(origin, row_);
    emit(row_);
    channels_->for_each(origin, [&](const Block& block) {
      const ScratchLine all = line(block, window_);
      const Bundle before = all.load({});
      all.store({}, join(before, line(block, row_).load({})));
    });
  }

  // Taps that are taken at a time: parts that differ by the last one at most. One by one where their number
  // is not known.
  int64_t part_of(const Origin& origin) const {
    const std::optional<int64_t> taps = b_.constant(origin.first.windows[along_].taps);
    return taps ? ceil_div(*taps, ceil_div(*taps, most_pixels_together)) : 1;
  }

  bool has_one_part(const Origin& origin) const {
    const std::optional<int64_t> taps = b_.constant(origin.first.windows[along_].taps);
    return taps && *taps == part_of(origin);
  }

  // Calls emit(origin, taps) for each part of the taps along a dimension.
  template <typename Emit>
  void for_each_part(const Origin& origin, const Emit& emit) {
    const Value taps = origin.first.windows[along_].taps;
    const std::optional<int64_t> constant = b_.constant(taps);
    const int64_t together = part_of(origin);
    if (constant && *constant == together) return emit(origin, together);
    Origin part = origin;
    step(part, along_, b_.begin_loop(constant ? b_.iconst(*constant / together) : taps).iv, together);
    emit(part, together);
    b_.end_loop();
    const int64_t rest = constant ? *constant % together : 0;
    if (rest == 0) return;
    Origin last = origin;
    move(last, along_, {(*constant - rest) * nest_.dims[along_].tap_step()});
    emit(last, rest);
  }

  void take_into(const Address& states, const Origin& origin, int64_t pixels) {
    channels_->for_each(origin, [&](const Block& block) {
      const ScratchLine held = line(block, states);
      held.store({}, take(block, pixels, held.load({})));
    });
  }

  // The states of a block, joined with so many pixels.
  Bundle take(const Block& block, int64_t pixels, const Bundle& before) {
    reducer_.plan(block.side.size(), pixels);
    const Type type = Type::vec(nest_.input.dtype, block.side[0].lanes);
    const int64_t pixel_bytes =
        byte_stride(nest_.input, nest_.input.strides[along_] * nest_.dims[along_].tap_step());
    Lowering::States states(block.side.size());
    if (!reducer_.facts().is_split) states = held_.states(before, block.side.size());
    for (int64_t pixel = 0; pixel < pixels; ++pixel)
      for (size_t i = 0; i < block.side.size(); ++i) {
        const Slice& slice = block.side[i];
        const Address address =
            plus(block.cursor.input, pixel * pixel_bytes + channel_bytes(nest_.input, slice.begin));
        states[i] =
            reducer_.accumulate(states[i], load_channels(b_, reducer_.facts(), type, address, slice), {});
      }
    const Bundle after = held_.bundle(states);
    return reducer_.facts().is_split ? join(before, after) : after;
  }

  Bundle join(const Bundle& earlier, const Bundle& later) {
    return joined(earlier, later, [this](Value a, Value b) { return held_.join(a, b); });
  }

  void clear(const Origin& origin, const Address& states) {
    channels_->for_each(origin, [&](const Block& block) { line(block, states).store({}, nothing(block)); });
  }

  Bundle nothing(const Block& block) {
    return held_.bundle(low_.no_taps(block.side.size(), block.side[0].lanes));
  }

  ScratchLine line(const Block& block, const Address& states) {
    const Bundle held = nothing(block);
    const Type type = b_.type(held[0]);
    const auto lanes = static_cast<int64_t>(block.side.size()) * block.side[0].lanes;
    const int64_t bytes = std::ssize(held) * type.vector_bytes() / lanes;
    return {b_, type, held.size(), at(states, block.channel, bytes)};
  }

  // Moves by taps of a dimension.
  void step(Origin& origin, size_t dim, Value iv, int64_t taps) {
    move(origin, dim, Position{}.further(iv, taps * nest_.dims[dim].tap_step()));
  }

  void move(Origin& origin, size_t dim, const Position& position) {
    origin.whole = low_.at_input(origin.whole, dim, position);
    origin.first = low_.at_input(origin.first, dim, position);
  }

  const PoolNest& nest_;
  const WholePixelsSchedule schedule_;
  const size_t last_;
  const size_t along_;  // the dimension whose taps are taken together
  Builder& b_;
  Reducer& reducer_;
  const HeldStates held_;
  Lowering low_;
  std::optional<ChannelTasks> channels_;  // the innermost tasks: a pixel is cut last
  Address window_, row_;                  // states in scratch memory
};

Result<void> suits_whole_pixels(const Layer& layer) {
  if (can_serve(layer.nest(), layer.facts(whole_pixels_lanes))) return {};
  return unsupported(
      "schedule.windows",
      "whole_pixels does not do indices, zeros=first, sums of more than 256 taps in a row or 2^18 channels",
      "use channels_last");
}

Result<void> check_whole_pixels(const Layer& layer, const Schedule& given) {
  if (auto suits = suits_whole_pixels(layer); !suits) return suits;
  const WholePixelsSchedule schedule(given);
  const PoolNest& nest = layer.nest();
  const ReductionFacts& facts = layer.facts(whole_pixels_lanes);
  if (schedule.pixels_along == WholePixelsFields::Along::column && nest.dims.size() == 1)
    return unsupported("schedule.scan",
                       "whole_pixels takes neighbours in a row or, where there are rows, in a column",
                       "use pixels_along=row");
  if (auto checked = check_channel_tasks(nest, channel_cut(schedule)); !checked)
    return tl::unexpected(checked.error());
  if (!has_registers(layer, given))
    return unsupported("schedule.registers", "the vectors side by side do not fit into the registers",
                       "use fewer vectors_side_by_side");
  if (levels(facts) * state_bytes(nest, schedule, facts) > most_scratch_bytes)
    return unsupported("schedule.scratch", "the channels do not fit into scratch memory",
                       "use channels_last");
  return {};
}

Result<Program> lower_whole_pixels(const Layer& layer, const Schedule& schedule) {
  if (const auto checked = check_whole_pixels(layer, schedule); !checked)
    return tl::unexpected(checked.error());
  Builder builder(print(schedule), layer.isa());
  const auto reducer = make_reducer(layer.nest(), builder, whole_pixels_lanes);
  WholePixels(layer.nest(), WholePixelsSchedule(schedule), builder, **reducer).emit();
  return builder.finish();
}

}  // namespace

const FamilyInfo whole_pixels_family = {Family::whole_pixels,  whole_pixels_lanes, tails_within,
                                        suits_whole_pixels,    check_whole_pixels, lower_whole_pixels,
                                        whole_pixels_registers};

}  // namespace pooljit::ir
