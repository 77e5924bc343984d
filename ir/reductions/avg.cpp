// Average: a sum (ir/reductions/sums.h), divided once and rounded once.
//
// The quotient of integers is taken in floating point where that is exact, which is where the floating
// quotient cannot be rounded onto a tie that the true quotient only comes close to. A quotient below 2^b that
// is no tie is at least 1 / (2 * divisor) away from one; a float of m bits rounds it by at most 2^(b - m -
// 1). So divisors below 2^(m - b) are safe, if the sum itself is below 2^m; b is the width of the input, and
// what an override makes larger is clamped. The rest is divided in integers (ir/reductions/quotient.h).
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

class AvgReducer final : public SumReducer {
 public:
  AvgReducer(const PoolNest& nest, Builder& builder, DType sum, DType quotient)
      : SumReducer(nest, builder, sum), quotient_(quotient) {}

  int working_bytes() const override {
    return std::max(bytes(sum_), bytes_to_store(nest_.output.dtype, quotient_));
  }

  int extra_registers() const override { return is_float(quotient_) ? 0 : quotient_registers; }

  Value finish(const State& state, const Divisor& divisor) override {
    const Value quotient =
        is_float(quotient_) ? divide(b_.cvt(quotient_, state[0]), divisor) : divide_exactly(state, divisor);
    return stored(b_, nest_.output.dtype, quotient);
  }

 private:
  // The divisor of each lane, where all are known.
  std::vector<int64_t> known_counts(const Divisor& divisor) const {
    std::vector<int64_t> counts = divisor.lane_taps;
    const int64_t* const rows = b_.constant(divisor.rows);
    if (nest_.divisor_override)
      std::fill(counts.begin(), counts.end(), *nest_.divisor_override);
    else if (rows)
      for (int64_t& count : counts) count *= *rows;
    else
      counts.clear();
    return counts;
  }

  Value divide(Value sum, const Divisor& divisor) {
    const Type type = b_.type(sum);
    const std::vector<int64_t> counts = known_counts(divisor);
    if (!counts.empty()) return divide_by(sum, counts);
    const DType integer = bytes(type.dtype) == 8 ? DType::i64 : DType::i32;
    Value count = b_.cvt(type.dtype, b_.splat(Type::vec(integer, type.lanes), divisor.rows));
    if (has_several_taps(divisor))
      count = b_.binary(Op::mul, count, constant(type, divisor.lane_taps, [](double taps) { return taps; }));
    return b_.binary(Op::div, sum, count);
  }

  Value divide_by(Value sum, const std::vector<int64_t>& counts) {
    const Type type = b_.type(sum);
    if (std::all_of(counts.begin(), counts.end(), has_exact_reciprocal))
      return b_.binary(Op::mul, sum, constant(type, counts, [](double count) { return 1 / count; }));
    return b_.binary(Op::div, sum, constant(type, counts, [](double count) { return count; }));
  }

  static bool has_several_taps(const Divisor& divisor) {
    return std::any_of(divisor.lane_taps.begin(), divisor.lane_taps.end(),
                       [](int64_t taps) { return taps != 1; });
  }

  // A negative divisor, which only an override can be, changes the dividend's sign instead.
  Value divide_exactly(const State& state, const Divisor& divisor) {
    const Type type = b_.type(state[0]);
    State sum = state;
    std::vector<int64_t> counts = known_counts(divisor);
    if (nest_.divisor_override && *nest_.divisor_override < 0) {
      for (int64_t& count : counts) count = -count;
      for (Value& digit : sum) digit = b_.binary(Op::sub, b_.vconst_splat(type, 0), digit);
    }
    Value count = no_value;
    if (!counts.empty())
      count = b_.vconst(type, std::move(counts));
    else if (count = b_.splat(type, divisor.rows); has_several_taps(divisor))
      count = b_.binary(Op::mul, count, b_.vconst(type, divisor.lane_taps));
    if (is_wide()) return rounded_quotient(b_, WideSum{sum[0], sum[1]}, count);
    return rounded_quotient(b_, sum[0], count);
  }

  template <typename F>
  Value constant(Type type, const std::vector<int64_t>& lanes, F f) {
    std::vector<int64_t> bits;
    for (int64_t lane : lanes) bits.push_back(float_bits(type.dtype, f(static_cast<double>(lane))));
    return b_.vconst(type, std::move(bits));
  }

  const DType quotient_;
};

// The narrowest type in which the division is exact; i64: in integers.
Result<DType> quotient_type(const PoolNest& nest, DType sum) {
  if (is_float(sum)) return sum;
  const int bits = info(nest.input.dtype).bits;
  const double taps = static_cast<double>(nest.full_taps()), most = taps * std::ldexp(1.0, bits);
  const double divisor = nest.divisor_override ? std::abs(static_cast<double>(*nest.divisor_override)) : taps;
  if (sum == DType::i32 && most < 0x1p24 && divisor < std::ldexp(1.0, 24 - bits)) return DType::f32;
  if (most < 0x1p53 && divisor < std::ldexp(1.0, 53 - bits)) return DType::f64;
  if (divisor < (nest.input.dtype == DType::i64 ? 0x1p31 : 0x1p62)) return DType::i64;
  return unsupported("schedule.quotient_range", "an integer average with this divisor may not be exact",
                     "use a divisor_override below 2^31 for int64, below 2^62 for other integers");
}

}  // namespace

Result<std::unique_ptr<Reducer>> make_avg_reducer(const PoolNest& nest, Builder& builder) {
  const Result<DType> sum = accumulator(nest);
  if (!sum) return tl::unexpected(sum.error());
  const Result<DType> quotient = quotient_type(nest, *sum);
  if (!quotient) return tl::unexpected(quotient.error());
  return std::make_unique<AvgReducer>(nest, builder, *sum, *quotient);
}

}  // namespace pooljit::ir
