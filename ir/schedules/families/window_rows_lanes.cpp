#include "ir/schedules/families/window_rows_lanes.h"

#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "ir/schedules/families/window_rows.h"
#include "ir/schedules/lanes/lane_gather.h"
#include "ir/schedules/lanes/slices.h"
#include "ir/schedules/layer.h"

namespace pooljit::ir {

namespace {

// The offsets where the value is the best; elsewhere the largest one.
Value offsets_of_best(Builder& b, const State& state, Value best) {
  const Type type = b.type(state[1]);
  const int64_t largest = std::numeric_limits<int64_t>::max() >> (64 - info(type.dtype).bits);
  const Value others = b.vconst_splat(type, is_signed_int(type.dtype) ? largest : lane_bits(type.dtype, -1));
  return b.select(b.cmp(Predicate::eq, state[0], best), state[1], others);
}

}  // namespace

State joined_by_equality(Builder& b, Op better, const Lowering::States& states, bool folds) {
  const int lanes = b.type(states[0][0]).lanes;
  const auto joined = [&](Op op, const std::vector<Value>& vectors) {
    Value all = vectors[0];
    for (size_t i = 1; i < vectors.size(); ++i) all = b.binary(op, vectors[i], all);
    for (int half = lanes / 2; folds && half > 0; half /= 2)
      all = b.binary(op, following_lanes(b, all, no_value, half, half),
                     following_lanes(b, all, no_value, 0, half));
    return all;
  };
  std::vector<Value> values, offsets;
  for (const State& state : states) values.push_back(state[0]);
  const Value best = joined(better, values);
  if (best == values[0]) return states[0];
  const std::vector<int64_t> first(static_cast<size_t>(lanes), 0);
  const Value everywhere = folds && lanes > 1 ? b.shuffle(best, no_value, first) : best;
  for (const State& state : states) offsets.push_back(offsets_of_best(b, state, everywhere));
  return {best, joined(Op::min, offsets)};
}

LaneFold WindowLanes::fold() {
  return {b_, [this](Value a, Value b) { return reducer_.join_values(a, b); }};
}

Value WindowLanes::joined(const Lowering::States& states) {
  Value all = no_value;
  for (const State& state : states)
    if (!state.empty())
      all = all == no_value ? reducer_.value(state) : reducer_.join_values(all, reducer_.value(state));
  return all;
}

State WindowLanes::join(const Lowering::States& states) {
  const DType dtype = nest_.input.dtype;
  if (nest_.indices && !is_float(dtype) && (bytes(dtype) < 8 || info(b_.isa()).has_long_ints)) {
    Lowering::States taken;
    for (const State& state : states)
      if (!state.empty()) taken.push_back(state);
    return joined_by_equality(b_, nest_.is_maximum() ? Op::max : Op::min, taken, /*folds=*/true);
  }
  std::map<int, std::vector<State>, std::greater<>> by_lanes;
  for (const State& state : states)
    if (!state.empty()) {
      const State whole = whole_state(state);
      by_lanes[b_.type(whole[0]).lanes].push_back(whole);
    }
  for (int lanes = by_lanes.begin()->first;; lanes /= 2) {
    State all;
    for (const State& state : by_lanes[lanes]) all = all.empty() ? state : reducer_.combine(all, state);
    if (lanes == 1) return all;
    if (all.empty()) continue;
    const State whole = whole_state(all);
    for (const int64_t begin : {0, lanes / 2}) {
      State half;
      for (const Value value : whole) half.push_back(some_lanes(value, begin, lanes / 2));
      by_lanes[lanes / 2].push_back(half);
    }
  }
}

void WindowLanes::store_row(Lowering& low, const Cursor& cursor, Value row, int64_t outputs, Value counts) {
  const bool lie_together = nest_.output.strides.back() == 1;
  const int lanes = lie_together ? b_.type(row).lanes : 1;
  const Tail tail = can_mask(nest_, b_.isa()) ? Tail::mask : Tail::split;
  for (const Slice& slice : slices(0, outputs, lanes, tail)) {
    Lanes stored = Lanes::channels(slice.lanes, slice.stored);
    stored.are_columns = true;
    if (counts != no_value) stored.counts = some_lanes(counts, slice.begin, slice.lanes);
    low.store(low.further(cursor, nest_.dims.size() - 1, slice.begin),
              {some_lanes(row, slice.begin, slice.lanes)}, stored);
  }
}

// Vectors that its lanes may be taken from.
State WindowLanes::whole_state(const State& state) {
  return joins_whole_states(nest_) ? state : State{reducer_.value(state)};
}

Value WindowLanes::some_lanes(Value value, int64_t begin, int lanes) {
  if (lanes == b_.type(value).lanes) return value;
  return following_lanes(b_, value, no_value, begin, lanes);
}

}  // namespace pooljit::ir
