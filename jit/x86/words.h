// What instructions on general registers do to numbers: jit/x86/machine.h reads their operands.
#pragma once

#include <Zydis/Zydis.h>

#include <cstdint>
#include <optional>

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

// Whether jcc or cmovcc takes place; none: the flags do not tell, or it is no such instruction.
std::optional<bool> condition(ZydisMnemonic mnemonic, const Flags& flags);

}  // namespace pooljit::jit::x86
