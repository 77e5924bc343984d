#include "ir/schedules/families/window_rows_lanes.h"

#include <functional>
#include <map>
#include <vector>

#include "ir/schedules/families/window_rows.h"
#include "ir/schedules/lanes/lane_gather.h"
#include "ir/schedules/lanes/slices.h"
#include "ir/schedules/layer.h"

namespace pooljit::ir {

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
