// Even and odd lanes apart: numbers of 8 or 16 bits become wider ones in two instructions for a whole vector,
// where widening neighbouring lanes takes a load and two instructions for each half. For reductions whose
// lanes stay where they are.
#pragma once

#include "ir/builder.h"

namespace pooljit::ir {

struct Halves {
  Value even, odd;
};

// The numbers of the lanes of twice the width: bf16 as f32, integers as integers of the same sign. x has an
// even number of lanes, of bf16 or of integers of 8 or 16 bits.
Halves widened_halves(Builder& builder, Value x);
// The type of the lanes of its halves.
DType halves_dtype(DType dtype);

// Back in one vector: the low halves of lanes of unsigned integers, as lanes of `narrow`. Above those of the
// even ones lie zeros.
Value interleaved(Builder& builder, DType narrow, const Halves& halves);

}  // namespace pooljit::ir
