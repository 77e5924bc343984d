// The operations that an ISA has, as tables: the rules of stage `legal`. The legaliser expands an operation
// that is not here, and the verifier refuses it. A back end that consumes `legal` needs an instruction for
// each row.
#pragma once

#include <optional>
#include <string>

#include "ir/program.h"

namespace pooljit::ir {

// Arithmetic, bit and shift ops: does the ISA have `op` on lanes of this type?
bool has_op(Isa isa, Op op, DType dtype);

// Comparisons; the operands of those that are missing are swapped or biased.
bool has_compare(Isa isa, Predicate pred, DType dtype);

// Conversions. Between integers: widening by the source's sign; narrowing modulo 2^n, or saturating within
// one signedness.
bool has_convert(Isa isa, DType from, DType to, bool saturate);

// Masked loads and stores of such elements. A masked load may need a pass-through of zeros.
bool has_masked_access(Isa isa, DType dtype);
bool masks_to_zero_only(Isa isa);

// Why an instruction is not legal, as a sentence; nullopt if it is.
std::optional<std::string> why_not_legal(const Program& program, const Inst& inst);

}  // namespace pooljit::ir
