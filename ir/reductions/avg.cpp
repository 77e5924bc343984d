// Average: a sum in the accumulator's type, divided once.
//
// Floats accumulate in float32. 8-bit integers accumulate exactly in int32 (int64 when the window could
// overflow it) and the quotient is rounded once, to nearest even. It is taken in floating point, which is
// exact enough when the floating quotient cannot be rounded onto a tie that the true quotient only comes
// close to: a quotient below 2^8 that is no tie is at least 1 / (2 * divisor) away from one, and float32
// rounds it by at most 2^-17, so divisors below 2^16 are safe (and sums below 2^24 are exact); float64 serves
// the rest, by the same argument for divisors below 2^44.
#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/reductions/reducer.h"

namespace pooljit::ir {
namespace {

struct Widths {
  DType sum;       // accumulator
  DType quotient;  // where the division is done
};

int64_t float_bits(DType dtype, double value) {
  if (dtype == DType::f64) return std::bit_cast<int64_t>(value);
  return std::bit_cast<uint32_t>(static_cast<float>(value));
}

// Dividing by a power of two and multiplying by its reciprocal round the same real number, so they agree to
// the last bit.
bool has_exact_reciprocal(int64_t count) {
  int exponent = 0;
  return count != 0 && std::abs(std::frexp(static_cast<double>(count), &exponent)) == 0.5 && exponent < 100;
}

class AvgReducer final : public Reducer {
 public:
  AvgReducer(const PoolNest& nest, Builder& builder, Widths widths)
      : b_(builder), nest_(nest), sum_(widths.sum), quotient_(widths.quotient) {}

  int working_bytes() const override { return std::max(bytes(sum_), bytes(quotient_)); }
  int64_t identity() const override { return 0; }
  bool is_split() const override { return is_float(sum_); }
  bool any_order() const override { return true; }

  State start(const std::vector<int64_t>& first_tap) override {
    return {b_.vconst_splat(Type::vec(sum_, static_cast<int>(first_tap.size())), 0)};
  }

  State accumulate(const State& state, Value loaded, const TapOffset&) override {
    return combine(state, {b_.cvt(sum_, loaded)});
  }

  State combine(const State& a, const State& b) override {
    if (a.empty()) return b;
    return {b_.binary(Op::add, a[0], b[0])};
  }

  Value finish(const State& state, const Divisor& divisor) override {
    const Value quotient = divide(b_.cvt(quotient_, state[0]), divisor);
    const DType output = nest_.output.dtype;
    if (is_float(output)) return b_.cvt(output, quotient);
    // Clamped first: an override may make the quotient larger than the conversion's range.
    const Type type = b_.type(quotient);
    const double most = std::ldexp(1.0, info(output).bits - is_signed_int(output)) - 1;
    const double least = is_signed_int(output) ? -most - 1 : 0;
    const Value low = b_.binary(Op::max, quotient, b_.vconst_splat(type, float_bits(type.dtype, least)));
    const Value clamped = b_.binary(Op::min, low, b_.vconst_splat(type, float_bits(type.dtype, most)));
    return b_.cvt(output, b_.cvt(DType::i32, clamped), /*saturate=*/true);
  }

 private:
  Value divide(Value sum, const Divisor& divisor) {
    const Type type = b_.type(sum);
    std::vector<int64_t> counts = divisor.lane_taps;
    if (nest_.divisor_override) {
      std::fill(counts.begin(), counts.end(), *nest_.divisor_override);
      return divide_by(sum, counts);
    }
    if (const int64_t* rows = b_.constant(divisor.rows)) {
      for (int64_t& count : counts) count *= *rows;
      return divide_by(sum, counts);
    }
    const DType integer = bytes(type.dtype) == 8 ? DType::i64 : DType::i32;
    Value count = b_.cvt(type.dtype, b_.splat(Type::vec(integer, type.lanes), divisor.rows));
    if (std::any_of(counts.begin(), counts.end(), [](int64_t taps) { return taps != 1; }))
      count = b_.binary(Op::mul, count, constant(type, counts, [](double taps) { return taps; }));
    return b_.binary(Op::div, sum, count);
  }

  Value divide_by(Value sum, const std::vector<int64_t>& counts) {
    const Type type = b_.type(sum);
    if (std::all_of(counts.begin(), counts.end(), has_exact_reciprocal))
      return b_.binary(Op::mul, sum, constant(type, counts, [](double count) { return 1 / count; }));
    return b_.binary(Op::div, sum, constant(type, counts, [](double count) { return count; }));
  }

  template <typename F>
  Value constant(Type type, const std::vector<int64_t>& lanes, F f) {
    std::vector<int64_t> bits;
    for (int64_t lane : lanes) bits.push_back(float_bits(type.dtype, f(static_cast<double>(lane))));
    return b_.vconst(type, std::move(bits));
  }

  Builder& b_;
  const PoolNest& nest_;
  const DType sum_, quotient_;
};

// The narrowest types in which the average of the nest is what semantics says.
Result<Widths> widths(const PoolNest& nest) {
  if (is_float(nest.input.dtype)) return Widths{DType::f32, DType::f32};
  const double taps = static_cast<double>(nest.full_taps());
  const double sum = taps * std::ldexp(1.0, info(nest.input.dtype).bits);
  const double divisor = nest.divisor_override ? std::abs(static_cast<double>(*nest.divisor_override)) : taps;
  if (sum < 0x1p24 && divisor < 0x1p16) return Widths{DType::i32, DType::f32};
  if (sum < 0x1p31 && divisor < 0x1p44) return Widths{DType::i32, DType::f64};
  if (sum < 0x1p52 && divisor < 0x1p44) return Widths{DType::i64, DType::f64};
  return unsupported("schedule.quotient_range",
                     "an integer average over this many taps, or with this divisor, is not exact in float64",
                     "use a kernel_size and a divisor_override below 2^44");
}

}  // namespace

Result<std::unique_ptr<Reducer>> make_avg_reducer(const PoolNest& nest, Builder& builder) {
  const Result<Widths> chosen = widths(nest);
  if (!chosen) return tl::unexpected(chosen.error());
  return std::make_unique<AvgReducer>(nest, builder, *chosen);
}

}  // namespace pooljit::ir
