// Powers, in arithmetic that every engine does alike. Lanes are float64 throughout.
#pragma once

#include "ir/builder.h"

namespace pooljit::ir {

// Vector registers that a power needs beside its operand, on the ISA that has fewest.
inline constexpr int power_registers = 8;

// x to a positive power that is not an integer, for x >= 0 or NaN. The relative error is at most
// (exponent + 4) * 2^-52; results below 2^-1022 are rounded twice. 0, infinity and NaN stay what they are.
Value power(Builder& builder, Value x, double exponent);

// x^(1/degree): the relative error is at most (1 / degree + 4) * 2^-52.
Value root(Builder& builder, Value x, double degree);

// x to an integer power >= 1 by multiplication: exponent - 1 roundings at most.
Value whole_power(Builder& builder, Value x, int64_t exponent);

// The exponents that are integers and whose multiplications round no more than power() does.
bool is_whole_power(double exponent);
Value any_power(Builder& builder, Value x, double exponent);
// How many ordinary taps a power() or root() is as long as in code, and any_power().
inline constexpr int64_t long_power_length = 16;  // about 75 instructions
int64_t power_length(double exponent);

}  // namespace pooljit::ir
