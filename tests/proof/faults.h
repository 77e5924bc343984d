// The faults that tests/proof/mutants.h plants.
#pragma once

#include <Zydis/Zydis.h>

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string_view>

#include "ir/program.h"

namespace pooljit::tests {

using Random = std::mt19937_64;

// Of an instruction of a Program: true if it was changed.
using ChangeInst = std::function<bool(ir::Program&, ir::Inst&, Random&)>;
struct ProgramFault {
  std::string_view name;
  ChangeInst change;
};
std::span<const ProgramFault> program_faults();

struct Decoded {
  ZydisDecodedInstruction info{};
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands{};
};
// Of the bytes of an instruction: true if they were changed.
struct ByteFault {
  std::string_view name;
  std::function<bool(const Decoded&, uint8_t* bytes, Random&)> change;
};
std::span<const ByteFault> byte_faults();

}  // namespace pooljit::tests
