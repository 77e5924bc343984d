// What a result becomes in the output: a value conversion that no value falls out of.
#pragma once

#include "ir/builder.h"

namespace pooljit::ir {

// To another dtype, lane by lane. Floats become the nearest integer, ties to even, and NaN becomes 0; what
// the output's integers cannot hold becomes the nearest that they can. Floats are rounded to nearest even.
Value stored(Builder& builder, DType output, Value result);

// Bytes of the widest lane that stored() makes on the way.
int bytes_to_store(DType output, DType result);

// What integers of a dtype can hold.
struct IntegerRange {
  int64_t least, most;
};
IntegerRange integer_range(DType dtype);

// The bits of a float constant, as vconst takes them.
int64_t float_bits(DType dtype, double value);

}  // namespace pooljit::ir
