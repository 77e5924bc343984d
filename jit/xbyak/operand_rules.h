// Operands that x86 allows for an instruction of stage `legal`. The register map and the emitter
// follow the same rules, so the former provides exactly what the latter needs.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/passes/shuffle_forms.h"
#include "ir/program.h"

namespace pooljit::jit {

// The form of a constant operand that has no register.
enum class Take : uint8_t {
  memory,     // a memory operand
  result,     // loaded into the result's register first
  immediate,  // part of the instruction, or moved by itself
  temporary,  // needs a register for this instruction
};

// True if the operation has a form that leaves alone the lanes of its result that a mask does not name.
bool has_masked_form(ir::Op op);

// The rules for the instructions of one Program, which are asked for by reference.
class OperandRules {
 public:
  explicit OperandRules(const ir::Program& program);

  // Finds the instruction of a shuffle, once for all queries about it.
  void find_form(const ir::Inst& shuffle);
  const ir::ShuffleForm& form(const ir::Inst& shuffle) const {
    return forms_[static_cast<size_t>(shuffle.results[0])];
  }
  // Bytes of the registers that a shuffle works on.
  int register_bytes(const ir::Inst& shuffle) const;

  Take take_constant(const ir::Inst& inst, size_t arg) const;
  // The constant that a shuffle needs besides its operands (constants.h).
  Take take_implied_constant(const ir::Inst& shuffle) const;

  // True if operand `arg` may be memory, all of whose bytes are then read.
  bool takes_memory(const ir::Inst& inst, size_t arg) const;
  // True if the first two operands may change places.
  bool commutes(const ir::Inst& inst) const;

  // True if the result's register is written before the operands are read for the last time.
  bool result_stands_apart(const ir::Inst& inst) const;

  // True if the result is the bits of the first operand, in the same register.
  bool is_alias(const ir::Inst& inst) const;

 private:
  const ir::Type& arg_type(const ir::Inst& inst, size_t arg) const { return program_.type(inst.args[arg]); }
  bool is_vector(const ir::Type& type) const;
  bool second_source_may_be_memory(const ir::Inst& shuffle) const;

  const ir::Program& program_;
  const bool masks_are_bits_;
  std::vector<ir::ShuffleForm> forms_;  // by result
};

}  // namespace pooljit::jit
