// The key of a half x, as a signed integer, is x where the sign is clear and inf - x where it is set; inf:
// the bits of infinity. Differences wrap, so from the lowest key to the highest it goes
//
//   -inf ... -0, (a gap), +0 ... +inf, NaN of either sign
//
// The highest of the keys is that of the largest number, or of a NaN if there is one; the same function leads
// back from key to half (a NaN loses its sign). The order with NaN below -inf, for minima in which a NaN wins
// and for maxima in which it must not, is that of key + (the number of NaNs of one sign), which wraps once
// more.
#include "ir/reductions/half_extreme.h"

#include "ir/half.h"
#include "ir/reductions/stored.h"

namespace pooljit::ir {
namespace {

class HalfExtremeReducer final : public Reducer {
 public:
  HalfExtremeReducer(const PoolNest& nest, Builder& builder, Extreme extreme)
      : b_(builder),
        nest_(nest),
        input_(nest.input.dtype),
        better_(extreme == Extreme::largest ? Op::max : Op::min),
        identity_(identity_bits(input_, extreme)),
        infinity_(input_ == DType::f16 ? Float16::infinity_bits : BFloat16::infinity_bits),
        nan_wins_(nest.nan == NanRule::propagate),
        nans_above_(nan_wins_ == (extreme == Extreme::largest)) {}

  int working_bytes() const override { return bytes_to_store(nest_.result_dtype(), input_); }
  int64_t identity() const override { return identity_; }
  bool is_split() const override { return false; }
  bool any_order() const override { return true; }

  State start(const std::vector<int64_t>& first_tap) override {
    return {first_key(static_cast<int>(first_tap.size()))};
  }

  State accumulate(const State& state, Value loaded, const TapOffset&) override {
    const Type keys = Type::vec(DType::i16, b_.type(loaded).lanes);
    Value key = mirrored(b_.bitcast(keys, loaded));
    if (!nans_above_) key = b_.binary(Op::add, key, b_.vconst_splat(keys, nans()));
    if (state.empty() && !nan_wins_) return {b_.binary(better_, key, first_key(keys.lanes))};
    return combine(state, {key});
  }

  State combine(const State& a, const State& b) override {
    if (a.empty()) return b;
    return {b_.binary(better_, b[0], a[0])};
  }

  Value finish(const State& state, const Divisor&) override {
    const Type keys = b_.type(state[0]);
    const Value key = nans_above_ ? state[0] : b_.binary(Op::sub, state[0], b_.vconst_splat(keys, nans()));
    return stored(b_, nest_.result_dtype(), b_.bitcast(Type::vec(input_, keys.lanes), mirrored(key)));
  }

 private:
  int64_t nans() const { return 0x7fff - infinity_; }  // of one sign

  // From half to key and back.
  Value mirrored(Value x) {
    const Type type = b_.type(x);
    const Value negative = b_.cmp(Predicate::lt, x, b_.vconst_splat(type, 0));
    return b_.select(negative, b_.binary(Op::sub, b_.vconst_splat(type, infinity_), x), x);
  }

  // The key of what every tap beats or equals.
  Value first_key(int lanes) {
    const int64_t key =
        (identity_ == infinity_ ? identity_ : infinity_ - identity_) + (nans_above_ ? 0 : nans());
    return b_.vconst_splat(Type::vec(DType::i16, lanes), key);
  }

  Builder& b_;
  const PoolNest& nest_;
  const DType input_;
  const Op better_;
  const int64_t identity_, infinity_;
  const bool nan_wins_, nans_above_;
};

}  // namespace

std::unique_ptr<Reducer> make_half_extreme_reducer(const PoolNest& nest, Builder& builder, Extreme extreme) {
  return std::make_unique<HalfExtremeReducer>(nest, builder, extreme);
}

}  // namespace pooljit::ir
