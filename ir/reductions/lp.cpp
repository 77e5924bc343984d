// Lp norm: (sum |x|^p)^(1/p) over the taps in the image; p = infinity is the largest |x|. A NaN in the window
// makes the result NaN, whatever p is.
//
// p = 1 and p = 2 accumulate as every sum does (ir/reductions/sums.h). Other powers accumulate in float64,
// which most powers of float32 fit into: whole ones by multiplication, others by ir/reductions/power.h.
#include <algorithm>
#include <cmath>

#include "ir/reductions/power.h"
#include "ir/reductions/stored.h"
#include "ir/reductions/sums.h"

namespace pooljit::ir {
namespace {

class LpReducer final : public SumReducer {
 public:
  LpReducer(const PoolNest& nest, Builder& builder, const ReductionFacts& facts, DType sum)
      : SumReducer(nest, builder, facts, sum), p_(nest.norm_type) {}

  State accumulate(const State& state, Value loaded, const TapOffset&) override {
    const bool is_narrow = is_half(nest_.input.dtype);  // converts to float32 only
    const Value x = b_.cvt(sum_, is_narrow ? b_.cvt(DType::f32, loaded) : loaded);
    if (p_ == 2 && !state.empty()) return {b_.fma(x, x, state[0])};
    return combine(state, {term(x)});
  }

  State combine(const State& a, const State& b) override {
    if (!is_max() || a.empty()) return SumReducer::combine(a, b);
    const Value largest = b_.binary(Op::max, b[0], a[0]);
    return {b_.select(b_.cmp(Predicate::un, b[0], b[0]), b[0], largest)};
  }

  Value finish(const State& state, const Divisor&) override {
    return stored(b_, nest_.result_dtype(), is_max() || p_ == 1 ? state[0] : root_of(state[0]));
  }

 private:
  bool is_max() const { return std::isinf(p_); }

  Value term(Value x) {
    if (p_ == 2) return b_.binary(Op::mul, x, x);
    const int64_t all_but_sign = static_cast<int64_t>((uint64_t{1} << (info(sum_).bits - 1)) - 1);
    const Value size = b_.binary(Op::and_, x, b_.vconst_splat(b_.type(x), all_but_sign));
    if (p_ == 1 || is_max()) return size;
    return any_power(b_, size, p_);
  }

  Value root_of(Value sum) { return p_ == 2 ? b_.sqrt(sum) : root(b_, sum, p_); }

  const double p_;
};

bool is_plain(const PoolNest& nest) {
  return nest.norm_type == 1 || nest.norm_type == 2 || std::isinf(nest.norm_type);
}

DType sum_of(const PoolNest& nest, DType accumulated) { return is_plain(nest) ? accumulated : DType::f64; }

// In ordinary taps: a half is converted, loses its sign and is asked whether it is NaN.
int64_t tap_length_of(double p, DType dtype) {
  if (p == 1 || p == 2) return 1;
  const int64_t least = is_half(dtype) ? 2 : 1;
  return std::isinf(p) ? least : std::max(least, power_length(p));
}

}  // namespace

Result<ReductionFacts> lp_facts(const PoolNest& nest, Isa) {
  if (!is_float(nest.input.dtype))
    return unsupported("schedule.norm", "an Lp norm of integers is not done", "use a floating dtype");
  const Result<DType> sum = accumulator(nest);
  if (!sum) return tl::unexpected(sum.error());
  ReductionFacts facts = accumulated_facts(nest, sum_of(nest, *sum));
  facts.extra_registers = is_plain(nest) ? 0 : power_registers;
  facts.is_split = !std::isinf(nest.norm_type);
  facts.tap_length = tap_length_of(nest.norm_type, nest.input.dtype);
  if (!is_plain(nest)) facts.output_length = long_power_length;
  return facts;
}

std::unique_ptr<Reducer> make_lp_reducer(const PoolNest& nest, Builder& builder,
                                         const ReductionFacts& facts) {
  return std::make_unique<LpReducer>(nest, builder, facts, sum_of(nest, *accumulator(nest)));
}

}  // namespace pooljit::ir
