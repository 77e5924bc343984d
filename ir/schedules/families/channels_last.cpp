// channels_last: a vector holds the same output position of neighbouring channels. Every tap of a window
// is one load, whatever the stride, padding or dilation. Channels must be adjacent in the input, or, if no
// columns are, anywhere: a tap is then several loads (ir/schedules/lanes/lanes_apart.h). With lanes=1 any
// strides will do, so this family can do every layer.
//
//   - scan=rolling reduces each position of the innermost dimension over the outer ones once; the
//     windows of neighbouring outputs share it.
//   - scan=strips does so in strips (ir/schedules/families/channels_last_strips.h).
#include <algorithm>
#include <bit>

#include "ir/reductions/float_keys.h"
#include "ir/schedule_text.h"
#include "ir/schedules/families/channels_last_registers.h"
#include "ir/schedules/families/channels_last_strips.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lanes/slices.h"
#include "ir/schedules/lowering/channel_tasks.h"
#include "ir/schedules/lowering/lowering.h"
#include "ir/schedules/lowering/prefetch.h"
#include "ir/schedules/lowering/roll_any_size.h"
#include "ir/schedules/windows/rolling_outputs.h"

namespace pooljit::ir {
namespace {

constexpr LaneUse channels_last_lanes = LaneUse::fixed;

// Code for all taps of a window, or of all windows of a rolling row, is for so many of a vector's taps.
constexpr int64_t most_taps_in_code = 6144;

struct ChannelsLastSchedule : ScheduleOf<ChannelsLastFields> {
  using ScheduleOf::ScheduleOf;
  bool rolls() const { return scan != Scan::windows; }
  bool loops_over_taps() const { return tap_code == TapCode::loops; }
};

// Channels that one turn of the loop over them takes.
int64_t block_of(const PoolNest& nest, const ChannelsLastSchedule& schedule) {
  return std::max(int64_t{schedule.lanes} * schedule.vectors_side_by_side, largest_block(nest));
}

// The pieces that a row is walked in: one, or strips; none if it has no strips.
std::vector<RollingStrip> strips_of(const PoolNest& nest, const ChannelsLastSchedule& schedule) {
  if (schedule.scan != ChannelsLastSchedule::Scan::strips) return {{nest.dims.back(), 0, 1}};
  return rolling_strips(nest, block_of(nest, schedule));
}

int64_t unroll_limit(const ChannelsLastSchedule& schedule) {
  return schedule.loops_over_taps() ? 1 : Lowering::unroll_taps;
}

// Vectors of channels that have code of their own.
int64_t vectors_in_code(const PoolNest& nest, const ChannelsLastSchedule& schedule) {
  const int64_t block = block_of(nest, schedule), rest = nest.channels % block;
  const auto behind = static_cast<uint64_t>(rest % schedule.lanes);
  const int64_t tail = schedule.tail == Tail::split ? std::popcount(behind) : behind > 0;
  return (nest.channels >= block ? block / schedule.lanes : 0) + rest / schedule.lanes + tail;
}

// Taps that the code takes for vectors. The bound is for taps with indices, which are as long as several
// ordinary ones; what is done to outputs counts as so many fewer.
int64_t vector_taps_in_code(const PoolNest& nest, const ChannelsLastSchedule& schedule,
                            const std::vector<RollingStrip>& strips, const ReductionFacts& facts) {
  constexpr int64_t ordinary_taps = 4;
  const size_t outer = nest.dims.size() - schedule.rolls();
  int64_t columns = 0;
  for (const RollingStrip& strip : strips)
    columns += schedule.rolls() ? RollingOutputs::loads_in_code(strip.dim) : 1;
  const int64_t loads = channel_stride(nest.input) == 1 ? 0 : schedule.lanes / ordinary_taps;  // one by one
  const int64_t taps = taps_in_code(nest, facts, outer, unroll_limit(schedule)) * (facts.tap_length + loads);
  const int64_t stores = length_of_stores(nest, Lanes::channels(schedule.lanes));
  const int64_t outputs = codes_for_windows(nest, outer) * (facts.output_length + stores) / ordinary_taps;
  return vectors_in_code(nest, schedule) * columns * (taps + outputs);
}

class ChannelsLast {
 public:
  ChannelsLast(const PoolNest& nest, const ChannelsLastSchedule& schedule,
               const std::vector<RollingStrip>& strips, Builder& builder, Reducer& reducer,
               const Staging* staging)
      : nest_(nest),
        schedule_(schedule),
        strips_(strips),
        ahead_(rolls() ? 0 : tap_bytes_ahead(nest, int64_t{schedule.lanes} * schedule.vectors_side_by_side)),
        b_(builder),
        reducer_(reducer),
        low_(nest, builder, reducer, {}, staging) {}

  void emit() {
    Cursor cursor = low_.start();
    const int batches = low_.open_batch(cursor);
    if (nest_.has_any_size() && largest_block(nest_) > 1)
      emit_blocks(cursor);
    else
      emit_image(cursor, nest_.channels);
    low_.close(batches);
    b_.ret();
  }

 private:
  bool rolls() const { return schedule_.rolls(); }

  // One plane after the other: what lies between blocks is found once for each.
  void emit_blocks(const Cursor& cursor) {
    const int64_t block = block_of(nest_, schedule_);
    const int64_t blocks = nest_.channels / block, rest = nest_.channels % block;
    low_.hold_blocks(blocks > 0 ? block : rest);
    if (blocks > 0) {
      Cursor at = cursor;
      const Value iv = b_.begin_loop(b_.iconst(blocks)).iv;
      low_.move_blocks(at, iv, block);
      emit_image(at, block);
      low_.close(1);
    }
    if (rest == 0) return;
    Cursor at = cursor;
    low_.move_blocks(at, b_.iconst(blocks), block);
    emit_image(at, rest);
  }

  // All outputs, for so many channels from the cursor's on.
  void emit_image(Cursor cursor, int64_t channels) {
    const size_t last = nest_.dims.size() - 1;
    const int loops = low_.open_dims(cursor, last);
    low_.for_each_group(cursor, {channels, nest_.dims[last].output},
                        [&](const Cursor& at, int64_t of_group) { emit_row(at, of_group); });
    low_.close(loops);
  }

  void emit_row(Cursor cursor, int64_t channels) {
    const size_t last = nest_.dims.size() - 1;
    if (rolls()) {
      low_.split_full(cursor, [&](const Cursor& at) {
        if (nest_.has_any_size()) return emit_channels(at, channels, &nest_.dims[last]);
        for (const RollingStrip& strip : strips_) emit_strips(at, channels, strip);
      });
      return;
    }
    const int loops = low_.open_runs(cursor, /*task=*/last == 0 && !low_.is_staged());
    low_.split_full(cursor, [&](Cursor at) {
      const int outputs = low_.open_outputs(at);
      emit_channels(at, channels, nullptr);
      low_.close(outputs);
    });
    low_.close(loops);
  }

  void emit_strips(const Cursor& cursor, int64_t channels, const RollingStrip& strip) {
    const size_t last = nest_.dims.size() - 1;
    Cursor at = low_.further_outputs(cursor, last, Position{strip.first});
    if (strip.count > 1) {
      const Value iv = b_.begin_loop(b_.iconst(strip.count)).iv;
      at = low_.at_input(at, last, Position{}.further(iv, strip.dim.output * strip.dim.stride));
      at = low_.further_outputs(at, last, Position{}.further(iv, strip.dim.output));
    }
    emit_channels(at, channels, &strip.dim);
    if (strip.count > 1) low_.close(1);
  }

  // rolled: the innermost dimension, as far as the cursor stands at its beginning; null where it stands at a
  // window.
  void emit_channels(const Cursor& cursor, int64_t channels, const NestDim* rolled) {
    const int64_t block = block_of(nest_, schedule_);
    const int64_t blocks = channels / block;
    if (blocks > 0) {
      Cursor at = cursor;
      if (blocks > 1) {
        const Value iv = b_.begin_loop(b_.iconst(blocks)).iv;
        at.input = plus(at.input, iv, channel_bytes(nest_.input, block));
        low_.for_each_output(at, [&](Address& address, const View& view) {
          address = low_.further_by(address, iv, low_.channels_step(view, block), 1);
        });
        if (const auto& beside = low_.beside())
          at.beside = plus(at.beside, iv, channel_bytes(*beside, block));
        low_.add_channels(at, 0, iv, block);
      }
      const std::vector<Slice> all = slices(0, block, schedule_.lanes, schedule_.tail);
      for (auto side = all.begin(); side != all.end(); side += schedule_.vectors_side_by_side)
        emit_slices(at, rolled, {side, side + schedule_.vectors_side_by_side});
      if (blocks > 1) low_.close(1);
    }
    const int64_t done = blocks * block;
    const std::vector<Slice> rest = slices(done, channels, schedule_.lanes, schedule_.tail);
    for (auto side = rest.begin(); side != rest.end();) {
      const auto most = rest.end() - side > schedule_.vectors_side_by_side
                            ? side + schedule_.vectors_side_by_side
                            : rest.end();
      const auto other = std::find_if(side, most, [&](const Slice& s) { return s.lanes != side->lanes; });
      emit_slices(cursor, rolled, {side, other});
      side = other;
    }
  }

  // Slices of equal lanes, done side by side.
  void emit_slices(const Cursor& cursor, const NestDim* rolled, const std::vector<Slice>& side) {
    const size_t last = nest_.dims.size() - 1;
    if (!rolled) {
      reducer_.plan(side.size(), nest_.full_taps());
      return store(cursor, reduce(cursor, nest_.dims.size(), side), side);
    }
    reducer_.plan(side.size(), nest_.full_taps() / nest_.dims[last].most_taps());
    const HeldStates held(reducer_, rolled->kernel >= least_keyed_kernel);
    const auto join = [&](Value earlier, Value later) { return held.join(earlier, later); };
    const auto load = [&](const Cursor& at) { return held.bundle(reduce(at, last, side)); };
    const auto store_windows = [&](const Cursor& at, const Bundle& windows) {
      store(at, held.states(windows, side.size()), side);
    };
    const Bundle nothing = held.bundle(low_.no_taps(side.size(), side[0].lanes));
    if (nest_.has_any_size())
      return RollAnySize(nest_, last, read_dim(low_, last), reducer_.facts(), b_, low_)
          .emit(cursor, {nothing, join, load, store_windows});
    RollingOutputs rolling(*rolled, b_, reducer_.facts(), join);
    rolling.divide_alike(nest_);
    const Divisors divisors(nest_, *rolled, rolling.looped(), b_);
    rolling.emit(
        nothing, [&](const Position& position) { return load(low_.at_input(cursor, last, position)); },
        [&](const Position& position, const Bundle& windows) {
          store_windows(low_.at_output(cursor, last, position, divisors(position)), windows);
        });
  }

  // Over the taps of dims [0, dims).
  Lowering::States reduce(const Cursor& cursor, size_t dims, const std::vector<Slice>& side) {
    const Values own = own_indices(cursor, side);
    const auto leaf = [&](Lowering::States states, const TapAt& at) {
      for (size_t i = 0; i < side.size(); ++i) {
        const Address address = low_.at_channel(at.input, nest_.input, side[i].begin);
        if (ahead_ > 0) b_.prefetch(plus(address, ahead_));
        const Value x = load_slice(nest_.input, address, side[i]);
        states[i] = reducer_.accumulate(states[i], x, tap_of(at, side[i], own.empty() ? no_value : own[i]));
      }
      return states;
    };
    return low_.reduce(cursor, dims, low_.no_taps(side.size(), side[0].lanes), leaf, unroll_limit(schedule_));
  }

  Value load_slice(const View& view, const Address& address, const Slice& slice) {
    return load_channels(b_, reducer_.facts(), Type::vec(view.dtype, slice.lanes), address, slice,
                         channel_stride(view));
  }

  void store(const Cursor& cursor, const Lowering::States& states, const std::vector<Slice>& side) {
    for (size_t i = 0; i < side.size(); ++i) {
      Cursor at = cursor;
      low_.for_each_output(at, [&](Address& address, const View& view) {
        address = low_.at_channel(address, view, side[i].begin);
      });
      low_.add_channels(at, side[i].begin, no_value, 0);
      low_.store(at, states[i], channel_lanes(side[i]));
    }
  }

  // Backward of a maximum: the index that each slice's lanes look for.
  Values own_indices(const Cursor& cursor, const std::vector<Slice>& side) {
    Values own;
    for (const Slice& slice : side) {
      if (!low_.chooses()) break;
      Cursor at = cursor;
      low_.add_channels(at, slice.begin, no_value, 0);
      const bool is_same = !own.empty() && low_.index_rule().channel == 0;
      own.push_back(is_same ? own[0] : low_.own_index(at, channel_lanes(slice)));
    }
    return own;
  }

  TapOffset tap_of(const TapAt& at, const Slice& slice, Value own) {
    TapOffset tap = at.offset;
    if (const auto& beside = low_.beside()) {
      const Address address = low_.at_channel(at.beside, *beside, slice.begin);
      if (low_.chooses())
        tap = low_.choose(tap, low_.load_indices(address, channel_stride(*beside), slice.lanes, slice.stored),
                          own);
      else
        tap.norm = load_slice(*beside, address, slice);
    }
    if (low_.divides()) tap.divisor = {at.divisor, std::vector<int64_t>(static_cast<size_t>(slice.lanes), 1)};
    return tap;
  }

  Lanes channel_lanes(const Slice& slice) {
    Lanes lanes = Lanes::channels(slice.lanes, slice.stored);
    const Step step = low_.channel_weight();
    const int64_t each = step.word == no_value ? step.constant : 1;
    for (int lane = 0; each != 0 && lane < slice.lanes; ++lane) lanes.ramp.push_back(lane * each);
    lanes.ramp_unit = step.word;
    return lanes;
  }

  const PoolNest& nest_;
  const ChannelsLastSchedule schedule_;
  const std::vector<RollingStrip>& strips_;  // of a row; rolling
  const int64_t ahead_;
  Builder& b_;
  Reducer& reducer_;
  Lowering low_;
};

// One vector at a time is what every layer falls back on, and a few with indices take up to 20 registers less
// than is claimed: there the register map says whether they fit.
bool may_fit(const Layer& layer, const Schedule& given) {
  const ChannelsLastSchedule schedule(given);
  const int few = layer.nest().indices ? 4 : 1;
  return (schedule.scan == ChannelsLastFields::Scan::windows && schedule.vectors_side_by_side <= few) ||
         has_registers(layer, given);
}

std::optional<Staging> staging_of(const Layer& layer, const ChannelsLastSchedule& schedule) {
  return schedule.lanes > 1 ? staged_pixels(layer.nest(), layer.isa()) : std::nullopt;
}

Result<void> check_channels_last(const Layer& layer, const Schedule& given) {
  const ChannelsLastSchedule schedule(given);
  const std::optional<Staging> staging = staging_of(layer, schedule);
  const PoolNest& nest = staging ? staging->nest : layer.nest();
  if (schedule.lanes > 1 && vector_channels(nest) < std::min<int64_t>(schedule.lanes, nest.channels))
    return unsupported(
        "schedule.strides",
        "channels_last with lanes > 1 needs channels of the input that lie next to each other, "
        "or as far apart as its columns and each other",
        "use lanes=1");
  // Lanes may be stored one by one, to planes.
  if (nest.has_any_size() && layer.adjacent_channels_read() < even_channels(nest))
    return unsupported(
        "schedule.sizes",
        "code for all sizes reads channels that lie next to each other, in pixels or in blocks",
        "compile the layer for each size");
  // Sums of floats keep the order that code for one size can have too.
  const bool can_roll_any = schedule.scan == ChannelsLastSchedule::Scan::rolling &&
                            nest.extents == Extents::any && !layer.facts(channels_last_lanes).is_split;
  if (nest.has_any_size() && schedule.rolls() && !can_roll_any)
    return unsupported("schedule.sizes",
                       "code for all sizes rolls only along rows, over windows of the kernel's taps, and not "
                       "over sums of floats",
                       "use scan=windows");
  if (schedule.rolls() &&
      !can_roll(nest, layer.facts(channels_last_lanes), layer.isa(), schedule.vectors_side_by_side))
    return unsupported(
        "schedule.scan",
        "rolling needs dense windows that overlap along the innermost of several dimensions, no "
        "indices or zeros=first, and registers for what neighbouring windows share",
        "use scan=windows or fewer vectors_side_by_side");
  if (!may_fit(layer, given))
    return unsupported("schedule.registers", "the vectors side by side do not fit into the registers",
                       "use fewer vectors_side_by_side");
  const std::vector<RollingStrip> strips = strips_of(nest, schedule);
  if (strips.empty())
    return unsupported("schedule.scan",
                       "strips are for rows of many outputs and for pixels of more channels, next to each "
                       "other, than are done side by side",
                       "use scan=rolling");
  if ((schedule.rolls() || !schedule.loops_over_taps()) &&
      vector_taps_in_code(nest, schedule, strips, layer.facts(channels_last_lanes)) > most_taps_in_code)
    return unsupported("schedule.code_size",
                       "the taps of so many vectors are too many for straight-line code",
                       "use scan=windows, tap_code=loops");
  if (schedule.tail == Tail::overlap && (nest.channels < schedule.lanes || largest_block(nest) > 1))
    return unsupported("schedule.tail",
                       "an overlapping tail needs at least as many channels as lanes, and no blocks of them",
                       "use tail=mask or tail=split");
  if (largest_block(nest) > 1 && !std::has_single_bit(static_cast<unsigned>(schedule.vectors_side_by_side)))
    return unsupported("schedule.together", "blocks of channels need a power of two of vectors_side_by_side",
                       "use vectors_side_by_side=1, 2 or 4");
  return {};
}

Result<Program> lower_channels_last(const Layer& layer, const Schedule& schedule) {
  if (const auto checked = check_channels_last(layer, schedule); !checked)
    return tl::unexpected(checked.error());
  const ChannelsLastSchedule own(schedule);
  const std::optional<Staging> staging = staging_of(layer, own);
  const PoolNest& nest = staging ? staging->nest : layer.nest();
  Builder builder(print(schedule), layer.isa());
  const auto reducer = make_reducer(nest, builder, channels_last_lanes);
  const std::vector<RollingStrip> strips = strips_of(nest, own);
  ChannelsLast(nest, own, strips, builder, **reducer, staging ? &*staging : nullptr).emit();
  return builder.finish();
}

}  // namespace

const FamilyInfo channels_last_family = {Family::channels_last,
                                         channels_last_lanes,
                                         all_tails,
                                         [](const Layer&) -> Result<void> { return {}; },
                                         check_channels_last,
                                         lower_channels_last,
                                         channels_last_registers};

}  // namespace pooljit::ir
