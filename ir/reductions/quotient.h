// Dividing sums of integers by counts: to the nearest integer to the exact quotient. Lanes are int64
// throughout.
#pragma once

#include <span>

#include "ir/builder.h"
#include "ir/nest.h"

namespace pooljit::ir {

// Vector registers that a quotient needs beside its operands, on the ISA that must expand most.
inline constexpr int quotient_registers = 10;
// ... and more where ties go away from zero.
inline constexpr int half_away_quotient_registers = 2;

// Exact for |dividend| < 2^62.5 and 0 < divisor < 2^62 in every lane. counts: the divisor of each lane, where
// that is known.
Value rounded_quotient(Builder& builder, Value dividend, Value divisor,
                       RoundingRule ties = RoundingRule::half_even, std::span<const int64_t> counts = {});

// A sum of int64 values that need not fit into 64 bits: high * 2^32 + low.
struct WideSum {
  Value high, low;
};
// The size of a sum and its divisor. Small ones are divided digit by digit by one float quotient each.
enum class SumSize : uint8_t { any, small };
inline constexpr int64_t most_small_divisor = int64_t{1} << 19;
// Clamped to int64. Exact for |high| < 2^62, |low| < 2^62 and 0 < divisor <= 2^31 in every lane, of a small
// sum for |high| < 2^50 and divisors up to most_small_divisor; no_value divides by 1.
Value rounded_quotient(Builder& builder, const WideSum& dividend, Value divisor,
                       RoundingRule ties = RoundingRule::half_even, std::span<const int64_t> counts = {},
                       SumSize size = SumSize::any);

}  // namespace pooljit::ir
