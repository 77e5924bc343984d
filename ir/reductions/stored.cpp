#include "ir/reductions/stored.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/half.h"

namespace pooljit::ir {
namespace {

// Clamped before the conversion, which must not see what does not fit. The lowest integer is a float; the
// highest one of the float's own width is not, so what lies beyond it is chosen afterwards.
Value float_to_int(Builder& b, DType output, Value number, RoundingRule ties) {
  const Value x = bytes(output) == 8 ? b.cvt(DType::f64, number) : number;
  const Type type = b.type(x);
  const auto constant = [&](double value) { return b.vconst_splat(type, float_bits(type.dtype, value)); };
  const IntegerRange limits = integer_range(output);
  const double end = std::ldexp(1.0, info(output).bits - (is_signed_int(output) ? 1 : 0));
  const bool has_most = bytes(output) < bytes(type.dtype) || bytes(output) < 4;
  const double most = has_most ? end - 1 : end - std::ldexp(end, type.dtype == DType::f32 ? -24 : -53);
  // A NaN is lower than the lowest, which is right for unsigned integers.
  const auto zero_for_nan = [&] {
    const Value is_nan = b.cmp(Predicate::un, x, x);
    return b.select(is_nan, constant(0), x);
  };
  const Value known = is_signed_int(output) ? zero_for_nan() : x;
  const Value low = b.binary(Op::max, known, constant(static_cast<double>(limits.least)));
  const Value clamped = b.binary(Op::min, low, constant(most));
  const Value whole = rounded(b, bytes(output) < 4 ? DType::i32 : output, clamped, ties);
  if (has_most) return b.cvt(output, whole, /*saturate=*/bytes(output) < 4);
  const Value is_beyond = b.cmp(Predicate::ge, x, constant(end));
  return b.select(is_beyond, b.vconst_splat(b.type(whole), limits.most), whole);
}

Value int_to_int(Builder& b, DType output, Value x) {
  const Type type = b.type(x);
  if (bytes(output) < bytes(type.dtype)) return b.cvt(output, x, /*saturate=*/true);
  const bool loses_sign = is_signed_int(type.dtype) && !is_signed_int(output);
  const Value fitting = loses_sign ? b.binary(Op::max, x, b.vconst_splat(type, 0)) : x;
  if (bytes(output) > bytes(type.dtype)) return b.cvt(output, fitting);
  if (output == type.dtype) return x;
  const Value clamped =
      loses_sign ? fitting : b.binary(Op::min, x, b.vconst_splat(type, integer_range(output).most));
  return b.bitcast(Type::vec(output, type.lanes), clamped);
}

}  // namespace

IntegerRange integer_range(DType dtype) {
  const int digits = info(dtype).bits - (is_signed_int(dtype) ? 1 : 0);
  const auto most = static_cast<int64_t>((uint64_t{1} << digits) - 1);
  return {is_signed_int(dtype) ? -most - 1 : 0, most};
}

// A tie of which the even integer leaves a half that points away from zero is moved there.
Value rounded(Builder& b, DType integer, Value number, RoundingRule ties) {
  const Value even = b.cvt(integer, number);
  if (ties == RoundingRule::half_even) return even;
  const Type type = b.type(number);
  const auto constant = [&](double value) { return b.vconst_splat(type, float_bits(type.dtype, value)); };
  const Value rest = b.binary(Op::sub, number, b.cvt(type.dtype, even));
  const Value is_negative = b.cmp(Predicate::lt, number, constant(0));
  const Value outward = b.select(is_negative, constant(-0.5), constant(0.5));
  const Value step = b.select(b.cmp(Predicate::eq, rest, outward), outward, constant(0));
  return b.cvt(integer, b.binary(Op::add, number, step));
}

Value stored(Builder& b, DType output, Value result, RoundingRule ties) {
  if (b.type(result).dtype == output) return result;
  if (is_half(b.type(result).dtype)) result = b.cvt(DType::f32, result);
  if (is_half(output)) return b.cvt(output, stored(b, DType::f32, result));
  const DType from = b.type(result).dtype;
  if (is_float(from)) return is_float(output) ? b.cvt(output, result) : float_to_int(b, output, result, ties);
  if (!is_float(output)) return int_to_int(b, output, result);
  return b.cvt(output, bytes(from) < 4 ? b.cvt(DType::i32, result) : result);
}

int bytes_to_store(DType output, DType result) {
  const int widest = std::max(bytes(output), bytes(result));
  const bool is_direct =
      output == result || (is_float(output) == is_float(result) && !is_half(output) && !is_half(result));
  return is_direct ? widest : std::max(widest, 4);
}

int64_t float_bits(DType dtype, double value) {
  if (dtype == DType::f64) return std::bit_cast<int64_t>(value);
  if (dtype == DType::f16) return Float16(static_cast<float>(value)).bits;
  if (dtype == DType::bf16) return BFloat16(static_cast<float>(value)).bits;
  return std::bit_cast<uint32_t>(static_cast<float>(value));
}

}  // namespace pooljit::ir
