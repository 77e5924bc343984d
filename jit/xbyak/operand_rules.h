// What x86 lets an instruction of stage `legal` do with its operands. The register map and the emitter go by
// the same rules, so that the one provides exactly what the other needs.
#pragma once

#include <cstdint>

#include "ir/program.h"

namespace pooljit::jit {

// What becomes of a constant operand that has no register.
enum class Take : uint8_t {
  memory,     // a memory operand
  result,     // loaded into the result's register first
  immediate,  // part of the instruction, or moved by itself
  temporary,  // needs a register for this instruction
};
Take take_constant(const ir::Program& program, const ir::Inst& inst, size_t arg);
// The constant that a shuffle needs besides its operands (constants.h).
Take take_implied_constant(const ir::Program& program, const ir::Inst& shuffle);

// True if operand `arg` may be memory, all of whose bytes are then read.
bool takes_memory(const ir::Program& program, const ir::Inst& inst, size_t arg);
// True if the first two operands may change places.
bool commutes(const ir::Program& program, const ir::Inst& inst);

// True if the operation has a form that leaves alone the lanes of its result that a mask does not name.
bool has_masked_form(ir::Op op);

// True if the result's register is written before the operands are read for the last time.
bool result_stands_apart(const ir::Program& program, const ir::Inst& inst);

// True if the result is the bits of the first operand, in the same register.
bool is_alias(const ir::Program& program, const ir::Inst& inst);

}  // namespace pooljit::jit
