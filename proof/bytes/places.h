// Where the bytes of instructions that only move bytes come from.
#pragma once

#include <Zydis/Zydis.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace pooljit::jit::x86 {

struct ByteSource {
  int source = -1;  // the first or second source; -1: a zero
  int byte = 0;
  bool operator==(const ByteSource&) const = default;
};

// bytes: of the result that the instruction writes, above which zeros follow. vector: of the instruction's
// vectors. control: the concrete bytes of a vector of indices, where the instruction has one (it is no source
// then). None: the instruction is not such a one.
std::optional<std::vector<ByteSource>> places(ZydisMnemonic mnemonic, int bytes, int vector, uint8_t imm,
                                              std::span<const uint8_t> control);

// Which operand, counted from the result, holds indices instead of data; no_control: none does. imm: whether
// it has an immediate.
int control_operand(ZydisMnemonic mnemonic, bool has_immediate);
inline constexpr int no_control = -1;

// The result's register is an operand, too: the first one.
bool reads_result(ZydisMnemonic mnemonic);

}  // namespace pooljit::jit::x86
