// Average: a sum (ir/reductions/sums.h), divided once and rounded once.
//
// The quotient n / d of integers is taken in floating point where that is exact. If it is no tie, it lies at
// least 1 / (2 d) away from one; a float of m bits rounds it by at most n / d * 2^-m. So the floating
// quotient cannot become a tie if n is below 2^(m - 1), whatever d is (where d is too large to be exact, the
// quotient is below 1/2), and a tie is exact. Larger sums are divided in integers (ir/reductions/quotient.h).
//
// A constant divisor becomes a factor where that rounds to the same: a power of two has an exact reciprocal,
// and integers divided by an odd d have no ties, so that n * (1/d), twice rounded, becomes the right integer
// if n is below 2^(m - 2).
//
// Of quantized tensors, the zero point is taken off each tap, so that taps outside the image, which load as
// the zero point, add nothing. The rest follows the formula of ir/nest.h in float64.
#include <algorithm>
#include <cmath>

#include "ir/reductions/quotient.h"
#include "ir/reductions/stored.h"
#include "ir/reductions/sums.h"

namespace pooljit::ir {
namespace {

// Dividing by a power of two and multiplying by its reciprocal round the same real number, so they agree to
// the last bit.
bool has_exact_reciprocal(int64_t count) {
  int exponent = 0;
  return count != 0 && std::abs(std::frexp(static_cast<double>(count), &exponent)) == 0.5 && exponent < 100;
}

// No sum of the taps of a window of integers is larger.
double most_sum(const PoolNest& nest) {
  return static_cast<double>(nest.full_taps()) * std::ldexp(1.0, info(nest.input.dtype).bits);
}

class AvgReducer final : public SumReducer {
 public:
  AvgReducer(const PoolNest& nest, Builder& builder, const ReductionFacts& facts, DType sum, DType quotient)
      : SumReducer(nest, builder, facts, sum), quotient_(quotient) {}

  State accumulate(const State& state, Value loaded, const TapOffset& tap) override {
    if (!nest_.quantization) return SumReducer::accumulate(state, loaded, tap);
    const Value q = b_.cvt(sum_, loaded);
    return combine(state,
                   {b_.binary(Op::sub, q, b_.vconst_splat(b_.type(q), nest_.quantization->zero_point))});
  }

  Value finish(const State& state, const Divisor& divisor) override {
    const Value result = quotient(state, divisor);
    const RoundingRule ties = ties_of(divisor);
    if (stays_in_range()) return b_.cvt(nest_.result_dtype(), rounded(b_, DType::i32, result, ties));
    return stored(b_, nest_.result_dtype(), result, ties);
  }

 private:
  // Sums of integers that are divided by odd numbers have no ties.
  RoundingRule ties_of(const Divisor& divisor) const {
    if (nest_.rounding == RoundingRule::half_even || nest_.quantization) return nest_.rounding;
    const std::vector<int64_t> counts = known_counts(nest_, b_, divisor);
    const bool has_even =
        counts.empty() || std::ranges::any_of(counts, [](int64_t count) { return count % 2 == 0; });
    return has_even ? RoundingRule::half_away : RoundingRule::half_even;
  }

  // Integers of at most 16 bits whose average, between the least and the largest of them, is stored as it is.
  bool stays_in_range() const {
    return !is_float(sum_) && is_float(quotient_) && bytes(nest_.input.dtype) < 4 &&
           nest_.result_dtype() == nest_.input.dtype && !nest_.divisor_override && !nest_.quantization &&
           nest_.epilogue.empty();
  }

  Value quotient(const State& state, const Divisor& divisor) {
    if (!is_float(quotient_)) return divide_exactly(state, divisor);
    const Value sum = as_float(quotient_, state);
    if (!nest_.quantization) return divide(sum, divisor);
    const Quantization& q = *nest_.quantization;
    const Type type = b_.type(sum);
    const auto number = [&](double value) { return b_.vconst_splat(type, float_bits(type.dtype, value)); };
    const Value scaled = b_.binary(Op::mul, sum, number(q.scale / q.output_scale));
    const Value divided = divide(scaled, divisor);
    return b_.binary(Op::add, divided, number(static_cast<double>(q.output_zero_point)));
  }

  Value divide(Value sum, const Divisor& divisor) {
    const Type type = b_.type(sum);
    const std::vector<int64_t> counts = known_counts(nest_, b_, divisor);
    if (!counts.empty()) return divide_by(sum, counts);
    const DType integer = bytes(type.dtype) == 8 ? DType::i64 : DType::i32;
    Value count = b_.cvt(type.dtype, b_.splat(Type::vec(integer, type.lanes), divisor.rows));
    if (divisor.lanes != no_value)
      count = b_.binary(Op::mul, count, b_.cvt(type.dtype, divisor.lanes));
    else if (has_several_taps(divisor))
      count = b_.binary(Op::mul, count, constant(type, divisor.lane_taps, [](double taps) { return taps; }));
    return b_.binary(Op::div, sum, count);
  }

  Value divide_by(Value sum, const std::vector<int64_t>& counts) {
    const Type type = b_.type(sum);
    const auto is_factor = [&](int64_t count) {
      return has_exact_reciprocal(count) || (count % 2 != 0 && rounds_to_integers());
    };
    if (std::all_of(counts.begin(), counts.end(), is_factor))
      return b_.binary(Op::mul, sum, constant(type, counts, [](double count) { return 1 / count; }));
    return b_.binary(Op::div, sum, constant(type, counts, [](double count) { return count; }));
  }

  // Whether the quotient becomes an integer, and the sum is one far from where floats end.
  bool rounds_to_integers() const {
    if (is_float(sum_) || is_float(nest_.result_dtype()) || nest_.quantization || !nest_.epilogue.empty())
      return false;
    return most_sum(nest_) < (quotient_ == DType::f32 ? 0x1p22 : 0x1p51);
  }

  static bool has_several_taps(const Divisor& divisor) {
    return std::any_of(divisor.lane_taps.begin(), divisor.lane_taps.end(),
                       [](int64_t taps) { return taps != 1; });
  }

  // A negative divisor, which only an override can be, changes the dividend's sign instead.
  Value divide_exactly(const State& state, const Divisor& divisor) {
    const Type type = b_.type(state[0]);
    State sum = state;
    std::vector<int64_t> counts = known_counts(nest_, b_, divisor);
    if (nest_.divisor_override && *nest_.divisor_override < 0) {
      for (int64_t& count : counts) count = -count;
      for (Value& digit : sum) digit = b_.binary(Op::sub, b_.vconst_splat(type, 0), digit);
    }
    const Value count = count_of(divisor, type, counts);
    if (count == no_value && !is_wide()) return sum[0];
    const RoundingRule ties = ties_of(divisor);
    if (is_wide()) return rounded_quotient(b_, WideSum{sum[0], sum[1]}, count, ties, counts, sum_size());
    return rounded_quotient(b_, sum[0], count, ties, counts);
  }

  // High digits are at least -2^31 each. A divisor that is not given is at most the taps of a window.
  SumSize sum_size() const {
    const int64_t taps = nest_.full_taps(), divisor = std::abs(nest_.divisor_override.value_or(taps));
    const bool is_small =
        nest_.extents != Extents::any_windows && taps < most_small_divisor && divisor <= most_small_divisor;
    return is_small ? SumSize::small : SumSize::any;
  }

  // The divisor of sums of integers; no_value: one in every lane.
  Value count_of(const Divisor& divisor, const Type& type, const std::vector<int64_t>& known) {
    if (!known.empty()) {
      const bool is_one = std::ranges::all_of(known, [](int64_t count) { return count == 1; });
      return is_one ? no_value : b_.vconst(type, known);
    }
    const Value rows = b_.splat(type, divisor.rows);
    if (divisor.lanes != no_value) return b_.binary(Op::mul, rows, b_.cvt(type.dtype, divisor.lanes));
    if (has_several_taps(divisor)) return b_.binary(Op::mul, rows, b_.vconst(type, divisor.lane_taps));
    return rows;
  }

  template <typename F>
  Value constant(Type type, const std::vector<int64_t>& lanes, F f) {
    std::vector<int64_t> bits;
    for (int64_t lane : lanes) bits.push_back(float_bits(type.dtype, f(static_cast<double>(lane))));
    return b_.vconst(type, std::move(bits));
  }

  const DType quotient_;
};

// The narrowest type in which the division is exact, or that holds a floating output; i64: in integers.
Result<DType> quotient_type(const PoolNest& nest, DType sum) {
  if (is_float(sum)) return sum;
  if (nest.quantization) return DType::f64;
  const double most = most_sum(nest);
  // The steps of an epilogue see the quotient itself.
  const bool divides_exactly =
      nest.epilogue.empty() || std::abs(static_cast<double>(nest.divisor_override.value_or(1))) < 0x1p24;
  if (most < 0x1p23 && nest.result_dtype() != DType::f64 && divides_exactly) return DType::f32;
  if (most < 0x1p52 || is_float(nest.result_dtype())) return DType::f64;
  const double divisor = std::abs(static_cast<double>(nest.divisor_override.value_or(nest.full_taps())));
  if (divisor < (nest.input.dtype == DType::i64 ? 0x1p31 : 0x1p62)) return DType::i64;
  return unsupported("schedule.quotient_range", "an integer average with this divisor may not be exact",
                     "use a divisor_override below 2^31 for int64, below 2^62 for other integers");
}

}  // namespace

Result<ReductionFacts> avg_facts(const PoolNest& nest, Isa) {
  const Result<DType> sum = accumulator(nest);
  if (!sum) return tl::unexpected(sum.error());
  const Result<DType> quotient = quotient_type(nest, *sum);
  if (!quotient) return tl::unexpected(quotient.error());
  ReductionFacts facts = accumulated_facts(nest, *sum);
  facts.working_bytes = std::max(bytes(*sum), bytes_to_store(nest.result_dtype(), *quotient));
  facts.held_bytes = facts.working_bytes;
  const bool is_away = nest.rounding == RoundingRule::half_away;
  if (!is_float(*quotient))
    facts.extra_registers = quotient_registers + (is_away ? half_away_quotient_registers : 0);
  else if (is_away)
    facts.extra_registers = std::max(facts.extra_registers, half_away_registers);
  if (nest.quantization) facts.identity = lane_bits(nest.input.dtype, nest.quantization->zero_point);
  return facts;
}

std::unique_ptr<Reducer> make_avg_reducer(const PoolNest& nest, Builder& builder,
                                          const ReductionFacts& facts) {
  const DType sum = *accumulator(nest);
  return std::make_unique<AvgReducer>(nest, builder, facts, sum, *quotient_type(nest, sum));
}

}  // namespace pooljit::ir
