// Dividing sums of integers by counts: to the nearest integer, ties to even, of the exact quotient. Lanes are
// int64 throughout.
#pragma once

#include "ir/builder.h"

namespace pooljit::ir {

// Vector registers that a quotient needs beside its operands, on the ISA that must expand most.
inline constexpr int quotient_registers = 10;

// Exact for |dividend| < 2^62.5 and 0 < divisor < 2^62 in every lane.
Value rounded_quotient(Builder& builder, Value dividend, Value divisor);

// A sum of int64 values that need not fit into 64 bits: high * 2^32 + low.
struct WideSum {
  Value high, low;
};
// Clamped to int64. Exact for |high| < 2^62 and 0 < divisor <= 2^31 in every lane; no_value divides by 1.
Value rounded_quotient(Builder& builder, const WideSum& dividend, Value divisor);

}  // namespace pooljit::ir
