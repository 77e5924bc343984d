// whole_pixels: large windows that do not overlap, over channels that lie next to each other. The pixels of a
// window are read whole, a few neighbours at a time, as they lie in memory; what all channels have come to is
// kept in scratch memory. So memory is read in long stretches, which the hardware foresees, where registers
// would hold a part of the channels and read each pixel in pieces. A vector holds neighbouring channels.
#include <algorithm>
#include <optional>

#include "ir/schedules/channel_blocks.h"
#include "ir/schedules/channel_tasks.h"

namespace pooljit::ir {
namespace {

constexpr LaneUse lane_use = LaneUse::fixed;

// Pixels that are taken at a time: what scratch memory costs is shared by them.
constexpr int64_t most_together = 8;
// Where it is worth it: windows of so many taps, pixels that registers hold in many pieces, images that
// outgrow the caches of a core.
constexpr int64_t least_taps = 32, least_vectors = 16;

int64_t state_bytes(const PoolNest& nest, const Schedule& schedule, const Reducer& reducer) {
  return (channel_vectors(nest, schedule.lanes) + schedule.unroll) * schedule.lanes * reducer.held_bytes();
}

bool can_serve(const PoolNest& nest, const Reducer& reducer) {
  return nest.channels <= most_scratch_bytes && !nest.indices && !nest.is_backward() && reducer.any_order() &&
         std::none_of(nest.dims.begin(), nest.dims.end(), is_long);
}

// States of one window at two levels, if sums are split.
int levels(const Reducer& reducer) { return reducer.is_split() ? 2 : 1; }

// A vector has what it has come to and a tap, perhaps what it came to before.
bool fits(const PoolNest& nest, const Schedule& schedule, const Reducer& reducer, Isa isa) {
  return 3 * static_cast<int>(reducer.held_vectors()) * schedule.unroll + 2 + extra_registers(nest, reducer) <
         info(isa).vector_registers;
}

std::vector<Schedule> enumerate_whole_pixels(const PoolNest& nest, Isa isa, int working_bytes, size_t) {
  Builder probe("", isa);
  const auto reducer = make_reducer(nest, probe, lane_use);
  Schedule schedule{.family = Family::whole_pixels};
  schedule.lanes = fitting_lanes(adjacent_channels(nest), isa, working_bytes);
  schedule.tail = can_mask(nest, isa) ? Tail::mask : Tail::split;
  const bool overlaps = std::any_of(nest.dims.begin(), nest.dims.end(), [](const NestDim& dim) {
    return dim.kind == DimKind::pool && dim.stride < dim.kernel;
  });
  std::vector<Schedule> found;
  if (!can_serve(nest, **reducer) || overlaps || nest.full_taps() < least_taps ||
      image_bytes(nest) < near_bytes || nest.channels < schedule.lanes * least_vectors)
    return found;
  for (const int unroll : {2, 4, 1}) {
    schedule.unroll = unroll;
    if (!check_channel_tasks(nest, schedule) || !fits(nest, schedule, **reducer, isa) ||
        levels(**reducer) * state_bytes(nest, schedule, **reducer) > most_scratch_bytes)
      continue;
    found.push_back(schedule);
  }
  return found;
}

class WholePixels {
 public:
  WholePixels(const PoolNest& nest, const Schedule& schedule, Builder& builder, Reducer& reducer)
      : nest_(nest),
        schedule_(schedule),
        last_(nest.dims.size() - 1),
        b_(builder),
        reducer_(reducer),
        held_(reducer, false),
        low_(nest, builder, reducer) {
    const int64_t bytes = state_bytes(nest, schedule, reducer);
    window_ = b_.add_scratch(bytes);
    if (levels(reducer) == 2) row_ = b_.add_scratch(bytes);
  }

  void emit() {
    Cursor cursor = low_.start();
    int loops = low_.open_batch(cursor);
    for (size_t i = 0; i <= last_; ++i) {
      loops += low_.open_runs(cursor, /*task=*/i == 0);
      loops += low_.open_outputs(cursor);
    }
    channels_.emplace(nest_, schedule_, b_, low_);
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
    Origin row = window;
    for (size_t i = 0; i < last_; ++i) step(row, i, b_.begin_loop(cursor.windows[i].taps).iv, 1);
    emit_row(row);
    low_.close(static_cast<int>(last_));
    channels_->for_each(window, [&](const Block& block) {
      const Column states = line(block, window_).load({});
      channels_->store(block.cursor, held_.states(states, block.side.size()), block.side);
    });
  }

  // The taps of a row, some at a time. Sums of a row join the window's when they are done.
  void emit_row(const Origin& row) {
    const Value taps = row.first.windows[last_].taps;
    const int64_t* constant = b_.constant(taps);
    const int64_t together = constant ? parts_of(*constant) : 1;
    const bool is_split = reducer_.is_split() && !(constant && together == *constant);
    const Address to = is_split ? row_ : window_;
    if (is_split) clear(row, to);
    Origin pixels = row;
    const Value trip = constant ? b_.iconst(*constant / together) : taps;
    step(pixels, last_, b_.begin_loop(trip).iv, together);
    channels_->for_each(pixels, [&](const Block& block) {
      const ScratchLine states = line(block, to);
      states.store({}, take(block, together, states.load({})));
    });
    b_.end_loop();
    if (!is_split) return;
    channels_->for_each(row, [&](const Block& block) {
      const ScratchLine all = line(block, window_);
      all.store({}, join(all.load({}), line(block, row_).load({})));
    });
  }

  // The most that divide a row.
  static int64_t parts_of(int64_t taps) {
    int64_t together = std::min(taps, most_together);
    while (taps % together != 0) --together;
    return together;
  }

  // What the pixels add to the states of a block.
  Column take(const Block& block, int64_t pixels, const Column& before) {
    reducer_.plan(block.side.size(), pixels);
    const Type type = Type::vec(nest_.input.dtype, block.side[0].lanes);
    const int64_t pixel_bytes =
        byte_stride(nest_.input, nest_.input.strides[last_] * nest_.dims[last_].tap_step());
    Lowering::States states(block.side.size());
    if (!reducer_.is_split()) states = held_.states(before, block.side.size());
    for (int64_t pixel = 0; pixel < pixels; ++pixel)
      for (size_t i = 0; i < block.side.size(); ++i) {
        const Slice& slice = block.side[i];
        const Address address =
            plus(block.cursor.input, pixel * pixel_bytes + channel_bytes(nest_.input, slice.begin));
        states[i] = reducer_.accumulate(states[i], load_channels(b_, reducer_, type, address, slice), {});
      }
    const Column after = held_.column(states);
    return reducer_.is_split() ? join(before, after) : after;
  }

  Column join(const Column& earlier, const Column& later) {
    return joined(earlier, later, [this](Value a, Value b) { return held_.join(a, b); });
  }

  void clear(const Origin& origin, const Address& states) {
    channels_->for_each(origin, [&](const Block& block) { line(block, states).store({}, nothing(block)); });
  }

  Column nothing(const Block& block) {
    return held_.column(low_.no_taps(block.side.size(), block.side[0].lanes));
  }

  ScratchLine line(const Block& block, const Address& states) {
    const Column held = nothing(block);
    const Type type = b_.type(held[0]);
    const auto lanes = static_cast<int64_t>(block.side.size()) * block.side[0].lanes;
    const int64_t bytes = std::ssize(held) * type.vector_bytes() / lanes;
    return {b_, type, held.size(), at(states, block.channel, bytes)};
  }

  // Moves by taps of a dimension.
  void step(Origin& origin, size_t dim, Value iv, int64_t taps) {
    const Place place = Place{}.further(iv, taps * nest_.dims[dim].tap_step());
    origin.whole = low_.at_input(origin.whole, dim, place);
    origin.first = low_.at_input(origin.first, dim, place);
  }

  const PoolNest& nest_;
  const Schedule& schedule_;
  const size_t last_;
  Builder& b_;
  Reducer& reducer_;
  const StateColumns held_;
  Lowering low_;
  std::optional<ChannelTasks> channels_;  // the innermost tasks: a pixel is cut last
  Address window_, row_;                  // states in scratch memory
};

Result<Program> lower_whole_pixels(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  Builder builder(print(schedule), isa);
  auto reducer = make_reducer(nest, builder, lane_use);
  if (!reducer) return tl::unexpected(reducer.error());
  if (!can_serve(nest, **reducer))
    return unsupported(
        "schedule.windows",
        "whole_pixels does not do indices, zeros=first, rows of more than 256 taps or 2^18 channels",
        "use channels_last");
  if (schedule.order != Order::row_major || schedule.taps != Taps::unroll)
    return unsupported("schedule.order", "whole_pixels takes the taps as they lie in memory",
                       "use order=row_major, taps=unroll");
  if (auto checked = check_channel_tasks(nest, schedule); !checked) return tl::unexpected(checked.error());
  if (!fits(nest, schedule, **reducer, isa))
    return unsupported("schedule.registers", "the vectors side by side do not fit into the registers",
                       "use a smaller unroll");
  if (levels(**reducer) * state_bytes(nest, schedule, **reducer) > most_scratch_bytes)
    return unsupported("schedule.scratch", "the channels do not fit into scratch memory",
                       "use channels_last");
  WholePixels(nest, schedule, builder, **reducer).emit();
  return builder.finish();
}

}  // namespace

const FamilyInfo whole_pixels_family = {Family::whole_pixels, "whole_pixels", lane_use,
                                        enumerate_whole_pixels, lower_whole_pixels};

}  // namespace pooljit::ir
