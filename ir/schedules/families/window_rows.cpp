// window_rows: a vector holds neighbouring taps of one window's row; when all rows are taken in, its lanes
// are joined. For windows that are long and few, where columns of outputs would leave lanes idle: global and
// adaptive pooling of channels-first planes. The taps of a row must lie next to each other, and be as many in
// all windows. Planes without gaps that a window covers whole are one row.
//
// unroll=R: R windows together, whose lanes are joined in the end with those of each other
// (ir/schedules/lanes/lane_fold.h): all R outputs of a row, so that the input is read row by row, or, where
// each channel is one window, R neighbouring channels.
#include <algorithm>
#include <bit>
#include <map>

#include "ir/reductions/epilogue.h"
#include "ir/schedules/families/window_rows.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lanes/lane_fold.h"
#include "ir/schedules/lanes/lane_gather.h"
#include "ir/schedules/lowering/channel_tasks.h"

namespace pooljit::ir {
namespace {

constexpr LaneUse lane_use = LaneUse::joined;

// Vectors of a row that have a state of their own, so that one need not wait for another.
constexpr size_t most_states = 4;
// Straight-line code up to so many vectors per row.
constexpr size_t unroll_vectors = 16;
// Straight-line code up to so many rows.
constexpr int64_t unroll_rows = 8;
constexpr int64_t shortest_row = 4;
// Registers that windows side by side leave free.
constexpr int64_t spare_registers = 5;
constexpr int64_t most_together = 8;
// Channels are done together up to so many vectors of each, all in straight-line code.
constexpr int64_t channel_vectors_together = 16;

bool covers_all(const NestDim& dim) {
  const Window window = dim.window(0);
  return dim.kind != DimKind::gather && dim.output == 1 && window.step == 1 && window.taps == dim.input &&
         window.padded_taps == window.taps;
}

// The nest with the innermost dimensions as one, as far as one window is all of them and they lie without
// gaps.
PoolNest joined(PoolNest nest) {
  while (nest.dims.size() > 1) {
    const size_t last = nest.dims.size() - 1;
    NestDim &outer = nest.dims[last - 1], inner = nest.dims[last];
    std::vector<int64_t>& strides = nest.input.strides;
    if (!covers_all(outer) || !covers_all(inner) || strides[last - 1] != strides[last] * inner.input) break;
    outer = NestDim{.input = outer.input * inner.input};
    outer.kernel = outer.stride = outer.input;
    strides[last - 1] = strides[last];
    nest.dims.pop_back();
    strides.pop_back();
    nest.output.strides.pop_back();
  }
  return nest;
}

struct Row {
  std::vector<Slice> slices;
  // Groups of whole vectors that a loop goes over before the rest; 0: all slices are straight-line code.
  int64_t groups = 0;
  // What is reduced apart: lanes of each state, and the state that a slice belongs to. Slices of fewer lanes
  // are tails, and have their own.
  std::vector<int> state_lanes = {};
  std::vector<size_t> state_of = {};
};

int64_t row_taps(const PoolNest& nest) { return nest.dims.back().most_taps(); }

// The last vector of a row, which ends with so many taps that the ones before do not have.
void end(Slice& last, int64_t taps, const Schedule& schedule) {
  if (schedule.tail == Tail::overlap) {
    last.stored.assign(static_cast<size_t>(schedule.lanes), 0);
    std::fill_n(last.stored.rbegin(), taps, 1);
  } else if (schedule.tail == Tail::mask && schedule.unroll > 1) {  // as long as all others
    last.lanes = schedule.lanes;
    last.stored.assign(static_cast<size_t>(schedule.lanes), 0);
    std::fill_n(last.stored.begin(), taps, 1);
  }
}

Row cut(const PoolNest& nest, const Schedule& schedule) {
  Row row;
  const int64_t taps = row_taps(nest), group = schedule.lanes * static_cast<int64_t>(most_states);
  if (taps > schedule.lanes * static_cast<int64_t>(unroll_vectors)) row.groups = taps / group;
  row.slices = slices(row.groups * group, taps, schedule.lanes, schedule.tail);
  if (taps % schedule.lanes != 0) end(row.slices.back(), taps % schedule.lanes, schedule);
  if (schedule.unroll > 1 && is_one_window(nest)) {  // there are enough others that need not wait
    row.state_lanes = {schedule.lanes};
    row.state_of.assign(row.slices.size(), 0);
    return row;
  }
  if (row.groups > 0) row.state_lanes.assign(most_states, schedule.lanes);
  for (size_t i = 0; i < row.slices.size(); ++i) {
    const int lanes = row.slices[i].lanes;
    const bool shares = lanes == schedule.lanes && row.state_lanes.size() >= most_states;
    row.state_of.push_back(shares ? i % most_states : row.state_lanes.size());
    if (!shares) row.state_lanes.push_back(lanes);
  }
  return row;
}

bool can_serve(const PoolNest& nest, const ReductionFacts& facts, int lanes) {
  const NestDim& dim = nest.dims.back();
  const std::vector<Run> all = runs(dim);
  const bool sums_long_rows = facts.is_split && row_taps(nest) > 2 * sum_block * lanes * int64_t{most_states};
  const bool in_blocks = nest.input.channel_block > 1 || nest.output.channel_block > 1;
  return !nest.is_backward() && !nest.indices && !in_blocks && facts.any_order &&
         nest.input.strides.back() == 1 && dim.tap_step() == 1 && all.size() == 1 &&
         all[0].window.taps == row_taps(nest) && row_taps(nest) >= shortest_row && !sums_long_rows;
}

// Windows whose results fit into one vector.
int64_t results_per_vector(const PoolNest& nest, const ReductionFacts& facts, Isa isa) {
  return info(isa).vector_bytes / std::max(facts.working_bytes, epilogue_bytes(nest));
}

// What unroll=R does together: all windows of a row, at constant distances, or neighbouring channels.
bool can_do_together(const PoolNest& nest, const ReductionFacts& facts, Isa isa, const Schedule& schedule) {
  const Row row = cut(nest, schedule);
  if (std::any_of(row.slices.begin(), row.slices.end(),
                  [&](const Slice& slice) { return slice.lanes != schedule.lanes; }))
    return false;
  if (schedule.unroll > results_per_vector(nest, facts, isa)) return false;
  const NestDim& dim = nest.dims.back();
  if (is_one_window(nest)) {
    const auto vectors = nest.full_taps() / row_taps(nest) * static_cast<int64_t>(row.slices.size());
    return nest.output.channel_stride == 1 && schedule.unroll <= most_together && row.groups == 0 &&
           vectors <= channel_vectors_together && std::has_single_bit(static_cast<unsigned>(schedule.unroll));
  }
  // A state is a value and its mask, or a part and the whole.
  const auto states = static_cast<int64_t>(row.state_lanes.size());
  return nest.dims.size() > 1 && dim.output == schedule.unroll && runs(dim)[0].phases == 1 &&
         2 * schedule.unroll * states + spare_registers + extra_registers(nest, facts) <=
             info(isa).vector_registers;
}

class WindowRows {
 public:
  WindowRows(const PoolNest& nest, const Schedule& schedule, Builder& builder, Reducer& reducer)
      : nest_(nest),
        schedule_(schedule),
        row_(cut(nest, schedule)),
        lanes_(schedule.lanes),
        outputs_(static_cast<size_t>(schedule.unroll)),
        ahead_(row_bytes_ahead(nest, builder.isa())),
        b_(builder),
        reducer_(reducer),
        low_(nest, builder, reducer) {}

  void emit() {
    outputs_ > 1 && is_one_window(nest_) ? emit_channels() : emit_rows();
    b_.ret();
  }

 private:
  void emit_channels() {
    Cursor cursor = low_.start();
    int loops = low_.open_batch(cursor);
    for (size_t i = 0; i < nest_.dims.size(); ++i) {
      loops += low_.open_runs(cursor, /*task=*/i == 0);
      loops += low_.open_outputs(cursor);
    }
    const Schedule stored{.lanes = schedule_.unroll,
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
    LaneFold fold = lane_fold();
    const int64_t count =
        slice.stored.empty() ? slice.lanes : std::count(slice.stored.begin(), slice.stored.end(), 1);
    for (int64_t i = 0; i < count; ++i) {
      Cursor at = cursor;
      at.input = plus(at.input, channel_bytes(nest_.input, slice.begin + i));
      const Lowering::States states = low_.reduce(
          at, nest_.dims.size() - 1, fresh,
          [&](const Lowering::States& before, const TapAt& tap) {
            return take_row(before, tap.input, fresh);
          },
          unroll_rows);
      fold.add(reducer_.value(states[0]));
    }
    return {fold.finish()};
  }

  void emit_rows() {
    Cursor cursor = low_.start();
    int loops = low_.open_batch(cursor);
    loops += low_.open_channels(cursor);
    const size_t last = nest_.dims.size() - 1;
    for (size_t i = 0; i < last; ++i) {
      loops += low_.open_runs(cursor, /*task=*/i == 0);
      loops += low_.open_outputs(cursor);
    }
    loops += low_.open_runs(cursor, /*task=*/last == 0);
    low_.split_full(cursor, [&](Cursor at) {
      const int outputs = outputs_ == 1 ? low_.open_outputs(at) : 0;
      emit_windows(at);
      low_.close(outputs);
    });
    low_.close(loops);
  }

  Lowering::States fresh_states() {
    Lowering::States fresh;
    for (const int own : row_.state_lanes)
      fresh.push_back(reducer_.start(std::vector<int64_t>(static_cast<size_t>(own), 0)));
    return fresh;
  }

  LaneFold lane_fold() {
    return {b_, [this](Value a, Value b) { return reducer_.join_values(a, b); }};
  }

  // Each output has states of its own.
  void emit_windows(const Cursor& cursor) {
    const size_t states_each = row_.state_lanes.size();
    reducer_.plan(outputs_ * states_each, nest_.full_taps() / lanes_ + 1);
    const Lowering::States fresh = fresh_states();
    const auto of_output = [&](const Lowering::States& all, size_t output) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(output * states_each);
      return Lowering::States(begin, begin + static_cast<std::ptrdiff_t>(states_each));
    };
    const auto leaf = [&](const Lowering::States& states, const TapAt& at) {
      Lowering::States taken;
      for (size_t output = 0; output < outputs_; ++output) {
        const Address row = plus(at.input, input_bytes(output));
        const Lowering::States own = take_row(of_output(states, output), row, fresh);
        taken.insert(taken.end(), own.begin(), own.end());
      }
      return taken;
    };
    Lowering::States all_fresh;
    for (size_t output = 0; output < outputs_; ++output)
      all_fresh.insert(all_fresh.end(), fresh.begin(), fresh.end());
    const int64_t straight_rows = std::max<int64_t>(1, unroll_rows / static_cast<int64_t>(outputs_));
    const Lowering::States states =
        low_.reduce(cursor, nest_.dims.size() - 1, all_fresh, leaf, straight_rows);
    if (outputs_ == 1) return low_.store(cursor, join_lanes(states), Lanes::channels(1));
    LaneFold fold = lane_fold();
    for (size_t output = 0; output < outputs_; ++output) fold.add(joined(of_output(states, output)));
    store_row(cursor, fold.finish());
  }

  // States of the same lanes as one vector.
  Value joined(const Lowering::States& states) {
    Value all = no_value;
    for (const State& state : states)
      if (!state.empty())
        all = all == no_value ? reducer_.value(state) : reducer_.join_values(all, reducer_.value(state));
    return all;
  }

  // The outputs of a row, one in each lane.
  void store_row(const Cursor& cursor, Value row) {
    const bool lie_together = nest_.output.strides.back() == 1;
    const auto count = static_cast<int64_t>(outputs_);
    const int lanes = lie_together ? b_.type(row).lanes : 1;
    const Tail tail = can_mask(nest_, b_.isa()) ? Tail::mask : Tail::split;
    for (const Slice& slice : slices(0, count, lanes, tail)) {
      Lanes stored = Lanes::channels(slice.lanes, slice.stored);
      stored.are_columns = true;
      low_.store(low_.further(cursor, nest_.dims.size() - 1, slice.begin),
                 {lanes_of(row, slice.begin, slice.lanes)}, stored);
    }
  }

  // From the first output's window to another's.
  int64_t input_bytes(size_t output) const {
    const int64_t positions = static_cast<int64_t>(output) * nest_.dims.back().period().input;
    return byte_stride(nest_.input, nest_.input.strides.back() * positions);
  }

  Lowering::States take_row(const Lowering::States& states, const Address& row,
                            const Lowering::States& fresh) {
    // Rounding errors of sums grow with the longest part: a row of several vectors per state is one.
    const bool joins = !states[0].empty() && reducer_.facts().is_split &&
                       row_.slices.size() + size_t(row_.groups) > most_states;
    Lowering::States taken = joins ? Lowering::States(states.size()) : states;
    if (row_.groups > 0) {
      if (taken[0].empty()) taken = fresh;
      take_groups(taken, row, fresh);
    }
    for (size_t i = 0; i < row_.slices.size(); ++i) {
      State& state = taken[row_.state_of[i]];
      const Slice& slice = row_.slices[i];
      if (ahead_ > 0) b_.prefetch(plus(row, slice.begin * bytes(nest_.input.dtype) + ahead_));
      state = reducer_.accumulate(state, load(row, slice), {});
    }
    for (size_t i = 0; joins && i < states.size(); ++i) taken[i] = reducer_.combine(states[i], taken[i]);
    return taken;
  }

  // The loop over whole vectors, most_states at a time.
  void take_groups(Lowering::States& states, const Address& row, const Lowering::States& fresh) {
    const auto pack = [&] {
      Values values;
      for (size_t i = 0; i < most_states; ++i) {
        const State settled = reducer_.settle(states[i]);
        values.insert(values.end(), settled.begin(), settled.end());
      }
      return values;
    };
    const auto unpack = [&](const Values& values) {
      auto value = values.begin();
      for (size_t i = 0; i < most_states; ++i) {
        const auto size = static_cast<std::ptrdiff_t>(fresh[i].size());
        states[i].assign(value, value + size);
        value += size;
      }
    };
    const int64_t vector_bytes = lanes_ * int64_t{bytes(nest_.input.dtype)};
    const auto loop = b_.begin_loop(b_.iconst(row_.groups), pack());
    unpack(loop.carried);
    const Address group = plus(row, loop.iv, vector_bytes * int64_t{most_states});
    const Type type = Type::vec(nest_.input.dtype, lanes_);
    for (size_t i = 0; i < most_states; ++i)
      states[i] = reducer_.accumulate(states[i],
                                      b_.load(type, plus(group, vector_bytes * static_cast<int64_t>(i))), {});
    unpack(b_.end_loop(pack()));
  }

  Value load(const Address& row, const Slice& slice) {
    const Type type = Type::vec(nest_.input.dtype, slice.lanes);
    const Address address = plus(row, slice.begin * bytes(nest_.input.dtype));
    const bool overlaps = schedule_.tail == Tail::overlap;
    if (slice.stored.empty() || (overlaps && reducer_.facts().is_idempotent)) return b_.load(type, address);
    const Value mask = b_.vmask(type.mask_of(), slice.stored);
    const Value nothing = b_.vconst_splat(type, reducer_.facts().identity);
    if (!overlaps) return b_.load(type, address, mask, nothing);
    const Value loaded = b_.load(type, address);
    return b_.select(mask, loaded, nothing);
  }

  // All lanes of all states in one, by halves.
  State join_lanes(const Lowering::States& states) {
    std::map<int, std::vector<State>, std::greater<>> by_lanes;
    for (const State& state : states)
      if (!state.empty()) {
        const Value value = reducer_.value(state);
        by_lanes[b_.type(value).lanes].push_back({value});
      }
    for (int lanes = by_lanes.begin()->first;; lanes /= 2) {
      State all;
      for (const State& state : by_lanes[lanes]) all = all.empty() ? state : reducer_.combine(all, state);
      if (lanes == 1) return all;
      if (all.empty()) continue;
      const Value value = reducer_.value(all);
      for (const int64_t begin : {0, lanes / 2})
        by_lanes[lanes / 2].push_back({lanes_of(value, begin, lanes / 2)});
    }
  }

  Value lanes_of(Value value, int64_t begin, int lanes) {
    if (lanes == b_.type(value).lanes) return value;
    return following_lanes(b_, value, no_value, begin, lanes);
  }

  const PoolNest& nest_;
  const Schedule& schedule_;
  const Row row_;
  const int lanes_;
  const size_t outputs_;  // side by side
  const int64_t ahead_;
  Builder& b_;
  Reducer& reducer_;
  Lowering low_;
};

Result<void> check_window_rows(const Layer& layer, const Schedule& schedule) {
  const PoolNest nest = joined(layer.nest());
  const ReductionFacts& facts = layer.facts(lane_use);
  if (!can_serve(nest, facts, schedule.lanes))
    return unsupported(
        "schedule.strides",
        "window_rows needs rows of at least four taps that lie next to each other, as many in all "
        "windows, and no indices, zeros=first or blocks of channels",
        "use channels_last or channels_first");
  if (schedule.unroll > 1 && !can_do_together(nest, facts, layer.isa(), schedule))
    return unsupported(
        "schedule.unroll",
        "window_rows does one output at a time, or side by side, in vectors of equal lanes, all of a row "
        "whose windows are held in registers, or 2, 4 or 8 neighbouring channels of one short window each",
        "use unroll=1, or as many as a row has outputs");
  if (schedule.tail == Tail::overlap && row_taps(nest) < schedule.lanes)
    return unsupported("schedule.tail", "an overlapping tail needs a whole vector before it",
                       "use tail=mask or tail=split");
  return {};
}

Result<Program> lower_window_rows(const Layer& layer, const Schedule& schedule) {
  if (const auto checked = check_window_rows(layer, schedule); !checked)
    return tl::unexpected(checked.error());
  const PoolNest nest = joined(layer.nest());
  Builder builder(print(schedule), layer.isa());
  const auto reducer = make_reducer(nest, builder, lane_use);
  WindowRows(nest, schedule, builder, **reducer).emit();
  return builder.finish();
}

// Together: the outputs of a row, or channels that are one window each.
Knobs window_rows_knobs(const Layer& layer) {
  const int64_t outputs = joined(layer.nest()).dims.back().output;
  Knobs knobs{.unroll = {1, 2, 4, 8}, .order = {Order::row_major}};
  if (outputs > 1) knobs.unroll = outputs <= 16 ? std::vector{1, static_cast<int>(outputs)} : std::vector{1};
  return knobs;
}

}  // namespace

bool is_one_window(const PoolNest& nest) {
  return std::all_of(nest.dims.begin(), nest.dims.end(), [](const NestDim& dim) { return dim.output == 1; });
}

int64_t joined_row_taps(const PoolNest& nest) { return row_taps(joined(nest)); }
int64_t joined_row_outputs(const PoolNest& nest) { return joined(nest).dims.back().output; }

int64_t most_windows_together(const Layer& layer) {
  return std::min(most_together, results_per_vector(layer.nest(), layer.facts(lane_use), layer.isa()));
}

bool can_take_window_rows(const Layer& layer, int lanes) {
  return can_serve(joined(layer.nest()), layer.facts(lane_use), lanes);
}

const FamilyInfo window_rows_family = {Family::window_rows, "window_rows",     lane_use,
                                       check_window_rows,   window_rows_knobs, lower_window_rows};

}  // namespace pooljit::ir
