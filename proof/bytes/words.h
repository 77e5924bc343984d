// Instructions on general registers, over numbers: proof/bytes/executor.h reads their operands.
#pragma once

#include <Zydis/Zydis.h>

#include <cstdint>
#include <optional>

#include "proof/bytes/byte_ops.h"

namespace pooljit::jit::x86 {

// Of the last instruction that set them; none: it left them undefined.
struct Flags {
  std::optional<bool> zero, sign, carry, overflow;
};

// A result of `bits` bits; nothing: only flags are set.
struct WordResult {
  std::optional<uint64_t> value;
  Flags flags;
  bool sets_flags = true;
};

// to: the first operand as it was; from, third: the others, or 0; before: the flags. None: no row, or a carry
// that is not known.
std::optional<WordResult> compute_word(ZydisMnemonic mnemonic, int bits, uint64_t to, uint64_t from,
                                       std::optional<uint64_t> third, const Flags& before);

// The comparison that a condition asks for, of data that were compared, of floats by vucomiss and its like;
// is_with_zero: by test. None: it asks for more than one, or it is no such instruction.
struct WordComparison {
  ir::Predicate pred;
  bool is_signed = true, is_negated = false;
};
std::optional<WordComparison> comparison(ZydisMnemonic mnemonic, bool is_float, bool is_with_zero);

// What an instruction does to words of which one is data: an operation on lanes, or on bits. Null: no row.
struct DataWordOp {
  ZydisMnemonic mnemonic;
  ir::Op op = ir::Op::and_;
  std::optional<BitOp> bits = std::nullopt;
  bool is_signed = true;
  bool is_negated = false;  // op(0, a)
  bool is_one = false;      // the second operand is 1
  bool is_not = false;      // the second operand is all ones
};
const DataWordOp* data_word_op(ZydisMnemonic mnemonic);

// Whether jcc, cmovcc or setcc takes place; none: the flags do not tell, or it is no such instruction.
std::optional<bool> condition(ZydisMnemonic mnemonic, const Flags& flags);

}  // namespace pooljit::jit::x86
