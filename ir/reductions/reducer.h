// Reducer: the operations of a reduction on vectors, for every schedule. One file per row of
// ir/reductions.def makes one: max.cpp defines make_max_reducer, and so on. A Reducer emits instructions
// through the Builder that it was made with; it knows nothing of loops, addresses or borders.
#pragma once

#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "ir/builder.h"
#include "ir/error.h"
#include "ir/nest.h"
#include "ir/reductions/facts.h"

namespace pooljit::ir {

// Values that a window's reduction has so far; empty before the first tap. Its form is the Reducer's
// business: outside it a State is only passed on.
using State = boost::container::static_vector<Value, 3>;

// The divisor of an average: rows (an index; how many taps the dimensions outside the lanes have) times
// per-lane counts.
struct Divisor {
  Value rows = no_value;
  std::vector<int64_t> lane_taps = {};
  Value lanes =
      no_value;  // these in lanes of int32, where they are not known; of elements of 4 bytes or more
};

// Where a tap lies relative to its window's origin, as indices count it: vec + constant, the same for each
// lane. Backward: which lanes the tap counts for (no_value: all), what it is divided by (no rows: nothing),
// and of a norm the forward's output.
struct TapOffset {
  Value vec = no_value;
  int64_t constant = 0;
  Value chosen = no_value;
  Divisor divisor = {};
  Value norm = no_value;
};

class Reducer {
 public:
  explicit Reducer(const ReductionFacts& facts) : facts_(facts) {}
  virtual ~Reducer() = default;

  const ReductionFacts& facts() const { return facts_; }

  // A state that stands for "no tap yet", for loops. first_tap: the offset of each lane's first tap in the
  // image.
  virtual State start(const std::vector<int64_t>& first_tap) = 0;
  // The same state, where indices are asked for and the offset of the first tap is an index value.
  virtual State with_first_tap(const State& none, Value offset) { return static_cast<void>(offset), none; }
  // One more tap: x has the input's dtype. An empty state becomes this tap's.
  virtual State accumulate(const State& state, Value x, const TapOffset& tap) = 0;
  // Joins two reductions of parts of the window; b's taps come later. With indices the parts may lie
  // anywhere in the window: the smaller offset comes first.
  virtual State combine(const State& a, const State& b) = 0;
  // The same state in the form that start() has, for loops to carry.
  virtual State settle(const State& state) { return state; }
  // LaneUse::moved and joined: the state as one vector, whose lanes may be moved; {value(state)} is a state
  // again. Not where indices are asked for.
  virtual Value value(const State& state) { return state[0]; }
  // The same of two such vectors.
  Value join_values(Value earlier, Value later) { return value(combine({earlier}, {later})); }
  // Lanes that are joined with the fewest instructions, where that pays for coming and going; the same as
  // value() by default. Not where indices are asked for.
  virtual Value key(const State& state) { return value(state); }
  virtual Value join_keys(Value earlier, Value later) { return join_values(earlier, later); }
  virtual State from_key(Value key) { return {key}; }
  // LaneUse::fixed: the state as vectors that are joined one by one, as keys or values; and a state made of
  // them. Not where indices are asked for.
  virtual State held(const State& state, bool as_keys) { return {as_keys ? key(state) : value(state)}; }
  virtual State from_held(const State& held, bool as_keys) { return as_keys ? from_key(held[0]) : held; }
  Value join_held(Value earlier, Value later, bool as_keys) {
    return as_keys ? join_keys(earlier, later) : join_values(earlier, later);
  }
  // Tells, before the first, how many states will be held at once, and how many taps a full one takes in: the
  // Reducer may spend registers on few, and work at the end of a state on long ones.
  virtual void plan(size_t states, int64_t taps) { static_cast<void>(states), static_cast<void>(taps); }
  // Backward of a norm: the value of a whole state where the forward's input is x, of the input's dtype.
  virtual State at_input(const State& state, Value x) { return static_cast<void>(x), state; }
  // The result, in the nest's result_dtype().
  virtual Value finish(const State& state, const Divisor& divisor) = 0;
  // The winning tap's offset per lane; no_value if no indices are asked for.
  virtual Value winner(const State&) const { return no_value; }

 private:
  const ReductionFacts facts_;
};

// The Reducer of the nest's reduction_facts(), with the same errors. nest and builder must outlive it.
Result<std::unique_ptr<Reducer>> make_reducer(const PoolNest& nest, Builder& builder, LaneUse lanes);

#define REDUCTION(name, ...)                                                             \
  std::unique_ptr<Reducer> make_##name##_reducer(const PoolNest& nest, Builder& builder, \
                                                 const ReductionFacts& facts);
#include "ir/reductions.def"
#undef REDUCTION
std::unique_ptr<Reducer> make_gradient_reducer(const PoolNest& nest, Builder& builder,
                                               const ReductionFacts& facts);
std::unique_ptr<Reducer> make_norm_gradient_reducer(const PoolNest& nest, Builder& builder,
                                                    const ReductionFacts& facts);

}  // namespace pooljit::ir
