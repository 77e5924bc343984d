#include "ir/reductions/sums.h"

#include <algorithm>
#include <cmath>

#include "ir/reductions/quotient.h"
#include "ir/reductions/stored.h"

namespace pooljit::ir {

ReductionFacts accumulated_facts(const PoolNest& nest, DType sum) {
  ReductionFacts facts{.is_split = is_float(sum)};
  facts.working_bytes = facts.held_bytes = bytes_to_store(nest.result_dtype(), sum);
  facts.extra_registers = is_wide_sum(nest) ? quotient_registers : 0;
  facts.state_vectors = is_wide_sum(nest) ? 2 : 1;
  facts.tap_length = is_wide_sum(nest) ? 2 : 1;  // its digits are taken apart
  // Two digits are two states, which rows_first does not hold.
  facts.any_order = !is_wide_sum(nest);
  return facts;
}

SumReducer::SumReducer(const PoolNest& nest, Builder& builder, const ReductionFacts& facts, DType sum)
    : Reducer(facts), b_(builder), nest_(nest), sum_(sum) {}

State SumReducer::start(const std::vector<int64_t>& first_tap) {
  const Value zero = b_.vconst_splat(Type::vec(sum_, static_cast<int>(first_tap.size())), 0);
  return is_wide() ? State{zero, zero} : State{zero};
}

State SumReducer::accumulate(const State& state, Value loaded, const TapOffset&) {
  if (!is_wide()) return combine(state, {b_.cvt(sum_, loaded)});
  const Value low_32 = b_.vconst_splat(b_.type(loaded), 0xffffffff);
  return combine(state, {b_.shift(Op::shr, loaded, 32), b_.binary(Op::and_, loaded, low_32)});
}

State SumReducer::combine(const State& a, const State& b) {
  if (a.empty()) return b;
  State joined;
  for (size_t i = 0; i < a.size(); ++i) joined.push_back(b_.binary(Op::add, a[i], b[i]));
  return joined;
}

Value SumReducer::as_float(DType dtype, const State& state) {
  if (!is_wide()) return b_.cvt(dtype, state[0]);
  const Value high = b_.cvt(DType::f64, state[0]), low = b_.cvt(DType::f64, state[1]);
  const Value digit = b_.vconst_splat(b_.type(high), float_bits(DType::f64, 0x1p32));
  return b_.cvt(dtype, b_.fma(high, digit, low));
}

std::vector<int64_t> known_counts(const PoolNest& nest, const Builder& builder, const Divisor& divisor) {
  std::vector<int64_t> counts = divisor.lane_taps;
  const std::optional<int64_t> rows = builder.constant(divisor.rows);
  if (nest.divisor_override)
    std::fill(counts.begin(), counts.end(), *nest.divisor_override);
  else if (rows && divisor.lanes == no_value)
    for (int64_t& count : counts) count *= *rows;
  else
    counts.clear();
  return counts;
}

Result<DType> accumulator(const PoolNest& nest) {
  const DType input = nest.input.dtype;
  if (is_float(input)) return input == DType::f64 ? DType::f64 : DType::f32;
  const double taps = static_cast<double>(nest.full_taps());
  if (taps * std::ldexp(1.0, info(input).bits) < 0x1p31) return DType::i32;
  // The digits of int64 have 32 bits each.
  if (taps * std::ldexp(1.0, input == DType::i64 ? 32 : info(input).bits) < 0x1p62) return DType::i64;
  return unsupported("schedule.sum_range", "an integer sum over this many taps may overflow 64 bits",
                     "use a smaller kernel_size");
}

}  // namespace pooljit::ir
