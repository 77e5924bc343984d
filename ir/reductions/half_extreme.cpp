// Halves are compared by their keys (ir/reductions/float_keys.h), in lanes of 16 bits.
#include "ir/reductions/half_extreme.h"

#include "ir/reductions/float_keys.h"
#include "ir/reductions/stored.h"

namespace pooljit::ir {
namespace {

class HalfExtremeReducer final : public Reducer {
 public:
  HalfExtremeReducer(const PoolNest& nest, Builder& builder, const ReductionFacts& facts, Extreme extreme)
      : Reducer(facts),
        b_(builder),
        nest_(nest),
        input_(nest.input.dtype),
        better_(extreme == Extreme::largest ? Op::max : Op::min),
        nan_wins_(nest.nan == NanRule::propagate),
        keys_(builder, input_, nan_wins_ == (extreme == Extreme::largest)) {}

  State start(const std::vector<int64_t>& first_tap) override {
    return {keys_.constant(facts().identity, static_cast<int>(first_tap.size()))};
  }

  State accumulate(const State& state, Value loaded, const TapOffset&) override {
    const Value key = keys_.key(loaded);
    if (state.empty() && !nan_wins_)
      return {b_.binary(better_, key, keys_.constant(facts().identity, b_.type(loaded).lanes))};
    return combine(state, {key});
  }

  State combine(const State& a, const State& b) override {
    if (a.empty()) return b;
    return {b_.binary(better_, b[0], a[0])};
  }

  Value finish(const State& state, const Divisor&) override {
    return stored(b_, nest_.result_dtype(), keys_.value(state[0]));
  }

 private:
  Builder& b_;
  const PoolNest& nest_;
  const DType input_;
  const Op better_;
  const bool nan_wins_;
  FloatKeys keys_;
};

}  // namespace

std::unique_ptr<Reducer> make_half_extreme_reducer(const PoolNest& nest, Builder& builder,
                                                   const ReductionFacts& facts, Extreme extreme) {
  return std::make_unique<HalfExtremeReducer>(nest, builder, facts, extreme);
}

}  // namespace pooljit::ir
