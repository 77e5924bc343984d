#include "ir/schedules/families/window_rows_narrow.h"

#include <algorithm>

#include "ir/schedules/families/window_rows_lanes.h"
#include "ir/schedules/lanes/lane_gather.h"

namespace pooljit::ir {

bool NarrowRow::suits(const PoolNest& nest, const ReductionFacts& facts, Isa isa, int lanes) {
  return nest.indices && facts.working_bytes < bytes(facts.offset_dtype) &&
         lanes * bytes(facts.offset_dtype) > info(isa).vector_bytes;
}

int NarrowRow::offset_lanes() const {
  return info(b_.isa()).vector_bytes / bytes(reducer_.facts().offset_dtype);
}

std::vector<int> NarrowRow::wide_lanes() const {
  return std::vector<int>(static_cast<size_t>(lanes_ / offset_lanes()), offset_lanes());
}

Lowering::States NarrowRow::take(const Lowering::States& wide, const WindowRow& cut, const TapAt& row) {
  const size_t together = cut.group_vectors;
  Lowering::States states(together);
  if (cut.groups > 0) states = groups_of(cut, row.input);
  const Slice* overlapping = nullptr;
  for (size_t i = 0; i < cut.slices.size(); ++i) {
    const Slice& slice = cut.slices[i];
    const size_t state = i % together;
    if (slice.begin % lanes_ != 0)
      overlapping = &slice;
    else
      states[state] = taken(states[state], load_(row.input, slice),
                            numbers(slice.begin / lanes_ - static_cast<int64_t>(state)));
  }
  for (size_t i = 1; i < states.size(); ++i)
    if (!states[i].empty()) states[i][1] = b_.binary(Op::add, states[i][1], numbers(static_cast<int64_t>(i)));
  states.erase(std::remove_if(states.begin(), states.end(), [](const State& state) { return state.empty(); }),
               states.end());
  const State all = joined_by_equality(b_, better_, states, /*folds=*/false);
  const Value last = overlapping == nullptr ? no_value : load_(row.input, *overlapping);
  Lowering::States joined;
  for (size_t part = 0; part < wide.size(); ++part) {
    const int count = offset_lanes(), begin = static_cast<int>(part) * count;
    const auto some = [&](Value narrow) { return following_lanes(b_, narrow, no_value, begin, count); };
    State state = reducer_.accumulate(wide[part], some(all[0]), offset(row.offset, begin, 0, some(all[1])));
    if (last != no_value)
      state = reducer_.accumulate(state, some(last), offset(row.offset, begin, overlapping->begin, no_value));
    joined.push_back(state);
  }
  return joined;
}

// The loop over whole vectors.
Lowering::States NarrowRow::groups_of(const WindowRow& cut, const Address& row) {
  const size_t together = cut.group_vectors;
  const Slice vector{0, lanes_, {}};
  const Value none = b_.vconst_splat(Type::vec(dtype_, lanes_), reducer_.facts().identity);
  Values carried = {numbers(0)};
  for (size_t i = 0; i < together; ++i) {
    carried.push_back(none);
    carried.push_back(numbers(0));
  }
  const auto loop = b_.begin_loop(b_.iconst(cut.groups), carried);
  const Address group = plus(row, loop.iv, vector_bytes_ * static_cast<int64_t>(together));
  const Value number = loop.carried[0];
  carried = {b_.binary(Op::add, number, numbers(static_cast<int64_t>(together)))};
  for (size_t i = 0; i < together; ++i) {
    const Value taps = load_(plus(group, vector_bytes_ * static_cast<int64_t>(i)), vector);
    const State state = taken({loop.carried[2 * i + 1], loop.carried[2 * i + 2]}, taps, number);
    carried.insert(carried.end(), state.begin(), state.end());
  }
  const Values after = b_.end_loop(carried);
  Lowering::States states;
  for (size_t i = 0; i < together; ++i) states.push_back({after[2 * i + 1], after[2 * i + 2]});
  return states;
}

State NarrowRow::taken(const State& state, Value taps, Value number) {
  if (state.empty()) return {taps, number};
  const Value best = b_.binary(better_, taps, state[0]);
  const Value keeps = b_.cmp(Predicate::eq, best, state[0]);
  if (info(b_.isa()).mask == MaskEncoding::k_bits) return {best, b_.select(keeps, state[1], number)};
  // Later numbers are larger: two operations, where a blend is two or three.
  return {best, b_.binary(Op::max, state[1], b_.select(keeps, numbers(0), number))};
}

TapOffset NarrowRow::offset(const TapOffset& row, int part, int64_t begin, Value number) {
  const DType dtype = reducer_.facts().offset_dtype;
  TapOffset found = row;
  const auto add = [&](Value more) {
    found.vec = found.vec == no_value ? more : b_.binary(Op::add, found.vec, more);
  };
  std::vector<int64_t> lanes;
  const int count = offset_lanes();
  for (int lane = 0; lane < count; ++lane) lanes.push_back((begin + part + lane) * index_step_);
  add(b_.vconst(Type::vec(dtype, count), lanes));
  if (number == no_value) return found;
  const Type type = Type::vec(dtype, count);
  add(b_.binary(Op::mul, b_.cvt(dtype, number), b_.vconst_splat(type, lanes_ * index_step_)));
  return found;
}

}  // namespace pooljit::ir
