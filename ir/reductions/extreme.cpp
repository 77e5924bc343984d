// Where a NaN wins: with indices, for few taps, where registers are short, or where `propagate` is one
// instruction, each tap is looked at: x is taken where it is NaN, which also makes the last NaN win. Else the
// looking is deferred: a mask gathers where a NaN was seen, one comparison serves two taps (`un` is true if
// either is NaN), and the NaN is put in at the end. A state is then one of
//   {x}              one tap, not looked at
//   {best, seen}     all taps looked at
//   {best, seen, x}  x is in best, but not looked at
#include "ir/reductions/extreme.h"

#include <limits>

#include "ir/reductions/float_keys.h"
#include "ir/reductions/half_extreme.h"
#include "ir/reductions/stored.h"

namespace pooljit::ir {
namespace {

// The type of the offsets of winners until they are stored: no narrower than what guards them, and as narrow
// as the windows allow. (A loop may step past the last tap, but nothing looks at that.)
DType offset_dtype_of(const PoolNest& nest) {
  const DType input = nest.input.dtype;
  if (is_float(input) || bytes(input) > 2) return bytes(input) == 8 ? DType::i64 : DType::i32;
  const int64_t most = index_reach(nest);
  if (bytes(input) == 1 && most <= std::numeric_limits<uint8_t>::max()) return DType::u8;
  return most <= std::numeric_limits<int16_t>::max() ? DType::i16 : DType::i32;
}

// The type in which values are compared. A mask guards elements of one width, so with indices narrow values
// are widened to the index's lanes; halves are compared as floats.
DType compared_dtype(const PoolNest& nest) {
  const DType input = nest.input.dtype;
  if (is_half(input)) return DType::f32;
  if (!nest.indices) return input;
  const DType offset = offset_dtype_of(nest);
  return bytes(input) < bytes(offset) ? offset : input;
}

// The quiet NaN of a floating dtype, as bits.
int64_t nan_bits(DType dtype) {
  return dtype == DType::f64 ? int64_t{0x7ff8000000000000} : int64_t{0x7fc00000};
}

bool nan_wins(const PoolNest& nest) { return is_float(nest.input.dtype) && nest.nan == NanRule::propagate; }

// With an index comes the element itself, bit for bit. A float has every bit of a bfloat16, but float16's
// conversion makes NaNs quiet: its bits are a third part of the state.
bool keeps_bits(const PoolNest& nest) { return nest.indices && nest.input.dtype == DType::f16; }

// The keys of halves tell zeros apart, and carry no index.
bool compares_halves(const PoolNest& nest) {
  return is_half(nest.input.dtype) && !nest.indices && nest.zeros == ZeroRule::any;
}

class ExtremeReducer final : public Reducer {
 public:
  ExtremeReducer(const PoolNest& nest, Builder& builder, const ReductionFacts& facts, Extreme extreme)
      : Reducer(facts),
        b_(builder),
        nest_(nest),
        better_(extreme == Extreme::largest ? Op::max : Op::min),
        beats_(extreme == Extreme::largest ? Predicate::gt : Predicate::lt),
        input_(nest.input.dtype),
        value_(compared_dtype(nest)),
        first_best_(is_half(input_) ? identity_bits(value_, extreme) : facts.identity),
        offset_(facts.offset_dtype),
        keys_(builder, is_float(value_) ? value_ : DType::f32, extreme == Extreme::largest) {}

  void plan(size_t states, int64_t taps) override { deferred_ = facts().keeps_masks(states, taps); }

  State start(const std::vector<int64_t>& first_tap) override {
    const Type type = Type::vec(value_, static_cast<int>(first_tap.size()));
    State state = {b_.vconst_splat(type, first_best_)};
    if (nest_.indices) state.push_back(b_.vconst(Type::vec(offset_, type.lanes), first_tap));
    if (keeps_bits()) state.push_back(b_.vconst_splat(Type::vec(DType::u32, type.lanes), facts().identity));
    if (deferred_)
      state.push_back(b_.vmask(type.mask_of(), std::vector<int64_t>(static_cast<size_t>(type.lanes), 0)));
    return state;
  }

  State with_first_tap(const State& none, Value offset) override {
    State state = none;
    if (nest_.indices) state[1] = b_.splat(b_.type(none[1]), offset);
    return state;
  }

  State accumulate(const State& state, Value loaded, const TapOffset& tap) override {
    const Value x = b_.cvt(value_, loaded);
    if (nest_.indices) return accumulate_indexed(state, x, loaded, tap);
    if (state.empty()) return {first(x)};
    return combine(state, {x});
  }

  State combine(const State& a, const State& b) override {
    if (a.empty()) return b;
    if (nest_.indices) return combine_indexed(a, b);
    if (!deferred_) return {better(b[0], a[0])};
    const Value best = b_.binary(better_, b[0], a[0]);
    const Value pending_a = unseen(a), pending_b = unseen(b);
    Value seen = a.size() > 1 ? a[1] : no_value;
    if (b.size() > 1) seen = join(seen, b[1]);
    if (pending_a != no_value && pending_b != no_value)
      return {best, join(seen, b_.cmp(Predicate::un, pending_a, pending_b))};
    const Value pending = pending_a != no_value ? pending_a : pending_b;
    return pending == no_value ? State{best, seen} : State{best, seen, pending};
  }

  State settle(const State& state) override {
    const Value pending = deferred_ && !state.empty() ? unseen(state) : no_value;
    if (pending == no_value) return state;
    const Value seen = b_.cmp(Predicate::un, pending, pending);
    return {state[0], join(state.size() > 1 ? state[1] : no_value, seen)};
  }

  Value value(const State& state) override {
    if (!deferred_ || state.size() == 1) return state[0];
    const State settled = settle(state);
    const Value nan = b_.vconst_splat(b_.type(settled[0]), nan_bits(value_));
    return b_.select(settled[1], nan, settled[0]);
  }

  Value key(const State& state) override { return has_keys() ? keys_.key(value(state)) : value(state); }
  Value join_keys(Value earlier, Value later) override {
    return has_keys() ? b_.binary(better_, later, earlier) : better(later, earlier);
  }
  State from_key(Value key) override { return has_keys() ? State{keys_.value(key)} : State{key}; }

  Value finish(const State& state, const Divisor&) override {
    const Value found = nest_.indices ? state[0] : value(state);
    if (nest_.result_dtype() != input_) return stored(b_, nest_.result_dtype(), found);
    if (is_half(input_) && nest_.indices) return half_of(state);
    return b_.cvt(input_, found);  // what was widened for its mask fits back
  }
  Value winner(const State& state) const override { return nest_.indices ? state[1] : no_value; }

 private:
  bool nan_wins() const { return ir::nan_wins(nest_); }

  bool has_keys() const { return nan_wins() && (info(b_.isa()).has_long_ints || bytes(value_) == 4); }

  // Deferred: the tap of the state that was not looked at.
  static Value unseen(const State& state) { return state.size() == 2 ? no_value : state.back(); }
  Value join(Value seen, Value more) { return seen == no_value ? more : b_.binary(Op::or_, seen, more); }

  bool keeps_bits() const { return ir::keeps_bits(nest_); }
  Value bits_of(Value half) {
    const int lanes = b_.type(half).lanes;
    return b_.cvt(DType::u32, b_.bitcast(Type::vec(DType::u16, lanes), half));
  }
  Value half_of(const State& state) {
    const int lanes = b_.type(state[0]).lanes;
    const Value bits =
        keeps_bits() ? state[2] : b_.shift(Op::shr, b_.bitcast(Type::vec(DType::u32, lanes), state[0]), 16);
    return b_.bitcast(Type::vec(input_, lanes), b_.cvt(DType::u16, bits));
  }

  // Where a blend is three operations, the extreme takes one. AVX2 compares integers without a sign for
  // equality only.
  State better_integer(Value x, Value offset, const State& state) {
    if (!is_signed_int(value_)) {
      const Value best = b_.binary(better_, x, state[0]);
      return {best, b_.select(b_.cmp(Predicate::eq, best, state[0]), state[1], offset)};
    }
    const Value winner = b_.select(b_.cmp(beats_, x, state[0]), offset, state[1]);
    return {b_.binary(better_, x, state[0]), winner};  // which may stay in its register
  }

  // The first tap stands for itself, but for a NaN that must not win.
  Value first(Value x) {
    if (!is_float(input_) || nan_wins()) return x;
    return b_.binary(better_, x, b_.vconst_splat(b_.type(x), first_best_));
  }

  Value better(Value x, Value best) {
    const Value found = b_.binary(better_, x, best);
    return nan_wins() ? b_.binary(Op::propagate, x, found) : found;
  }

  State accumulate_indexed(const State& state, Value x, Value loaded, const TapOffset& tap) {
    const Type type = Type::vec(offset_, b_.type(x).lanes);
    Value offset = tap.vec;
    if (offset == no_value)
      offset = b_.vconst_splat(type, tap.constant);
    else if (tap.constant != 0)
      offset = b_.binary(Op::add, offset, b_.vconst_splat(type, tap.constant));
    State taken = {state.empty() ? first(x) : x, offset};
    if (keeps_bits()) taken.push_back(bits_of(loaded));
    if (state.empty()) {
      if (keeps_bits() && !nan_wins()) {
        const Value lowest = b_.vconst_splat(b_.type(taken[2]), facts().identity);
        taken[2] = b_.select(b_.cmp(Predicate::un, x, x), lowest, taken[2]);
      }
      return taken;
    }
    const bool blends_freely = info(b_.isa()).mask == MaskEncoding::k_bits;
    if (!is_float(value_) && bytes(value_) < 8 && !blends_freely) return better_integer(x, offset, state);
    Value wins = b_.cmp(beats_, x, state[0]);
    if (nan_wins()) wins = b_.binary(Op::or_, wins, b_.cmp(Predicate::un, x, x));
    for (size_t i = 0; i < taken.size(); ++i) taken[i] = b_.select(wins, taken[i], state[i]);
    return taken;
  }

  // Of equal values the first tap wins, of NaN the last.
  State combine_indexed(const State& a, const State& b) {
    const auto both = [&](Value x, Value y) { return b_.binary(Op::and_, x, y); };
    const auto either = [&](Value x, Value y) { return b_.binary(Op::or_, x, y); };
    const Value greater = b_.cmp(beats_, b[0], a[0]);
    const Value equal = b_.cmp(Predicate::eq, b[0], a[0]);
    const Value earlier = b_.cmp(Predicate::lt, b[1], a[1]);
    Value wins = either(greater, both(equal, earlier));
    if (nan_wins()) {  // a NaN beats a number, and an earlier NaN
      const Value is_number = b_.cmp(Predicate::eq, a[0], a[0]);
      const Value later = b_.cmp(Predicate::gt, b[1], a[1]);
      const Value is_beaten = either(is_number, later);
      wins = either(wins, both(b_.cmp(Predicate::un, b[0], b[0]), is_beaten));
    }
    State joined;
    for (size_t i = 0; i < a.size(); ++i) joined.push_back(b_.select(wins, b[i], a[i]));
    return joined;
  }

  Builder& b_;
  const PoolNest& nest_;
  const Op better_;
  const Predicate beats_;
  const DType input_;
  const DType value_;
  const int64_t first_best_;
  const DType offset_;
  FloatKeys keys_;
  bool deferred_ = false;
};

}  // namespace

int64_t identity_bits(DType dtype, Extreme extreme) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const bool is_max = extreme == Extreme::largest;
  if (is_float(dtype)) return float_bits(dtype, is_max ? -infinity : infinity);
  const int64_t lowest =
      is_signed_int(dtype) ? std::numeric_limits<int64_t>::min() >> (64 - info(dtype).bits) : 0;
  return is_max ? lowest : lane_bits(dtype, ~lowest);
}

Result<ReductionFacts> extreme_facts(const PoolNest& nest, Isa isa, Extreme extreme) {
  if (nest.indices && index_reach(nest) > std::numeric_limits<int32_t>::max())
    return unsupported("schedule.index_range",
                       "a window whose taps lie 2^31 or more elements apart cannot be indexed",
                       "use a smaller kernel_size or dilation, or leave return_indices out");
  const DType input = nest.input.dtype;
  ReductionFacts facts{.identity = identity_bits(input, extreme), .is_idempotent = true};
  facts.working_bytes =
      bytes_to_store(nest.result_dtype(), compares_halves(nest) ? input : compared_dtype(nest));
  facts.held_bytes = facts.working_bytes;
  facts.offset_dtype = offset_dtype_of(nest);
  facts.tap_length = nest.indices && bytes(input) < 4 ? 2 : 1;
  facts.extra_registers = keeps_bits(nest) ? 6 : 0;
  facts.any_order = !nest.indices && (nest.zeros == ZeroRule::any || !is_float(input));
  facts.may_defer_nans = nan_wins(nest) && !info(isa).fixes_nans && !nest.indices && !compares_halves(nest);
  return facts;
}

std::unique_ptr<Reducer> make_extreme_reducer(const PoolNest& nest, Builder& builder,
                                              const ReductionFacts& facts, Extreme extreme) {
  if (compares_halves(nest)) return make_half_extreme_reducer(nest, builder, facts, extreme);
  return std::make_unique<ExtremeReducer>(nest, builder, facts, extreme);
}

}  // namespace pooljit::ir
