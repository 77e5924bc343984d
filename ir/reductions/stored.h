// Conversion of a result to the output's dtype. It is defined for every value.
#pragma once

#include "ir/builder.h"
#include "ir/nest.h"

namespace pooljit::ir {

// To another dtype, lane by lane. Floats become the nearest integer, ties by the rule, and NaN becomes 0;
// what the output's integers cannot hold becomes the nearest that they can. Floats are rounded to nearest
// even.
Value stored(Builder& builder, DType output, Value result, RoundingRule ties = RoundingRule::half_even);

// The nearest integers to floats that are numbers and fit the type.
Value rounded(Builder& builder, DType integer, Value number, RoundingRule ties);
// Vector registers that this needs beside its operand, where ties go away from zero.
inline constexpr int half_away_registers = 5;

// Bytes of the widest lane that stored() makes on the way.
int bytes_to_store(DType output, DType result);

// The range of integers of a dtype.
struct IntegerRange {
  int64_t least, most;
};
IntegerRange integer_range(DType dtype);

// The bits of a float constant, as vconst takes them.
int64_t float_bits(DType dtype, double value);

}  // namespace pooljit::ir
