// Expansions of ops that an ISA lacks, for ir/passes/legalize.cpp. Each function emits instructions that are
// all legal for builder.isa() and returns the result; if the ISA has the op itself, just that. They call each
// other: an expansion may use ops that must be expanded too.
#pragma once

#include "ir/builder.h"

namespace pooljit::ir {

Value expand_binary(Builder& builder, Op op, Value a, Value b);  // add sub mul div min max propagate and_ or_
Value expand_shift(Builder& builder, Op op, Value a, int64_t bits);
Value expand_compare(Builder& builder, Predicate pred, Value a, Value b);
Value expand_convert(Builder& builder, DType to, Value a, bool saturate);  // not to bf16

// What lanes of 32 bits are narrowed to, in lanes of 32 bits, zeros above it: the bits of integers of 8 or 16
// bits, and of f32 as bfloat16.
Value expand_narrow_bits(Builder& builder, DType to, Value a, bool saturate);
Value expand_bf16_bits(Builder& builder, Value a);

// `bits` of that many low bits set; the sign bit of a type.
constexpr int64_t low_bits(int count) {
  return count >= 64 ? -1 : static_cast<int64_t>((uint64_t{1} << count) - 1);
}

// The type of a with elements of dtype; a's bits as such; a constant of a's type.
inline Type retyped(const Builder& b, DType dtype, Value a) { return Type::vec(dtype, b.type(a).lanes); }
inline Value as(Builder& b, DType dtype, Value a) { return b.bitcast(retyped(b, dtype, a), a); }
inline Value constant_like(Builder& b, Value a, int64_t bits) { return b.vconst_splat(b.type(a), bits); }

}  // namespace pooljit::ir
