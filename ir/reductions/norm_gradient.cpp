// Backward of an Lp norm. Where x is an element of the forward's input, y the norm of a window and g its
// gradient, the element's gradient is s(x) |x|^(p-1) times the sum of g / y^(p-1) over the windows that hold
// it; s is the sign. A window whose norm is 0 gives nothing, one whose norm is NaN gives NaN.
//
// p = 1 and p = 2 are computed in the type of the sums (float32, or float64), other p in float64.
#include <cmath>
#include <cstdlib>

#include "ir/reductions/power.h"
#include "ir/reductions/reducer.h"
#include "ir/reductions/stored.h"

namespace pooljit::ir {
namespace {

bool sums_plainly(const PoolNest& nest) { return nest.norm_type == 1 || nest.norm_type == 2; }

DType norm_sum_dtype(const PoolNest& nest) {
  return sums_plainly(nest) && bytes(nest.input.dtype) < 8 ? DType::f32 : DType::f64;
}

class NormGradientReducer final : public Reducer {
 public:
  NormGradientReducer(const PoolNest& nest, Builder& builder, const ReductionFacts& facts)
      : Reducer(facts), b_(builder), nest_(nest), sum_(norm_sum_dtype(nest)), exponent_(nest.norm_type - 1) {}

  State start(const std::vector<int64_t>& first_tap) override {
    return {b_.vconst_splat(Type::vec(sum_, static_cast<int>(first_tap.size())), 0)};
  }

  State accumulate(const State& state, Value loaded, const TapOffset& tap) override {
    const Value gradient = widened(loaded), norm = magnitude(widened(tap.norm));
    Value share = gradient;
    if (exponent_ > 0) share = b_.binary(Op::div, gradient, power_of(norm));
    if (exponent_ < 0) share = b_.binary(Op::mul, gradient, power_of(norm));
    return combine(state, {b_.select(b_.cmp(Predicate::gt, norm, zero(norm)), share, norm)});
  }

  State combine(const State& a, const State& b) override {
    if (a.empty()) return b;
    return {b_.binary(Op::add, a[0], b[0])};
  }

  State at_input(const State& state, Value loaded) override {
    const Value x = widened(loaded);
    if (exponent_ == 1) return {b_.binary(Op::mul, state[0], x)};
    Value size = state[0];
    if (exponent_ > 0) size = b_.binary(Op::mul, size, power_of(magnitude(x)));
    if (exponent_ < 0) size = b_.binary(Op::div, size, power_of(magnitude(x)));
    const Value negated = b_.binary(Op::sub, zero(size), size);
    return {b_.select(b_.cmp(Predicate::lt, x, zero(x)), negated, size)};
  }

  Value finish(const State& state, const Divisor&) override {
    return stored(b_, nest_.output.dtype, state[0]);
  }

 private:
  Value zero(Value like) { return b_.vconst_splat(b_.type(like), 0); }

  // Halves convert to float32 only.
  Value widened(Value x) { return b_.cvt(sum_, is_half(nest_.input.dtype) ? b_.cvt(DType::f32, x) : x); }

  Value magnitude(Value x) {
    const int64_t all_but_sign = static_cast<int64_t>((uint64_t{1} << (info(sum_).bits - 1)) - 1);
    return b_.binary(Op::and_, x, b_.vconst_splat(b_.type(x), all_but_sign));
  }

  // x^|p-1|
  Value power_of(Value x) { return any_power(b_, x, std::abs(exponent_)); }

  Builder& b_;
  const PoolNest& nest_;
  const DType sum_;
  const double exponent_;
};

}  // namespace

Result<ReductionFacts> norm_gradient_facts(const PoolNest& nest) {
  if (!is_float(nest.input.dtype))
    return unsupported("schedule.gradient_dtype", "gradients are floats", "use float32");
  if (std::isinf(nest.norm_type))
    return unsupported("schedule.norm", "the gradient of the largest magnitude is not done",
                       "max_pool_backward of the magnitudes");
  const double exponent = std::abs(nest.norm_type - 1);
  ReductionFacts facts{.is_split = true};
  facts.working_bytes = facts.held_bytes = bytes(norm_sum_dtype(nest));
  // The norm beside the gradient, a zero, a mask, and the bits of a magnitude.
  facts.extra_registers = 4 + (sums_plainly(nest) ? 0 : power_registers);
  facts.tap_length =
      2 + (is_half(nest.input.dtype) ? 1 : 0) + (sums_plainly(nest) ? 0 : power_length(exponent));
  if (!sums_plainly(nest)) facts.output_length = power_length(exponent);
  return facts;
}

std::unique_ptr<Reducer> make_norm_gradient_reducer(const PoolNest& nest, Builder& builder,
                                                    const ReductionFacts& facts) {
  return std::make_unique<NormGradientReducer>(nest, builder, facts);
}

}  // namespace pooljit::ir
