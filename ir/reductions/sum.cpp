// Sum: an average without the division. A sum of integers is exact, and then converted as any result is.
#include "ir/reductions/quotient.h"
#include "ir/reductions/stored.h"
#include "ir/reductions/sums.h"

namespace pooljit::ir {
namespace {

class PlainSumReducer final : public SumReducer {
 public:
  using SumReducer::SumReducer;

  Value finish(const State& state, const Divisor&) override {
    return stored(b_, nest_.result_dtype(), total(state));
  }

 private:
  Value total(const State& state) {
    if (!is_wide()) return state[0];
    if (is_float(nest_.result_dtype())) return as_float(DType::f64, state);
    return rounded_quotient(b_, WideSum{state[0], state[1]}, no_value);
  }
};

}  // namespace

Result<ReductionFacts> sum_facts(const PoolNest& nest, Isa) {
  const Result<DType> sum = accumulator(nest);
  if (!sum) return tl::unexpected(sum.error());
  return accumulated_facts(nest, *sum);
}

std::unique_ptr<Reducer> make_sum_reducer(const PoolNest& nest, Builder& builder,
                                          const ReductionFacts& facts) {
  return std::make_unique<PlainSumReducer>(nest, builder, facts, *accumulator(nest));
}

}  // namespace pooljit::ir
