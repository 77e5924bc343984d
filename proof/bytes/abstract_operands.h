// Values of an instruction's operands, before and after it, in the abstract state of proof/bytes/inspect.cpp.
#pragma once

#include <span>

#include "ir/program.h"
#include "jit/machine_code.h"
#include "proof/bytes/abstract_state.h"

namespace pooljit::jit {

bool is_constant_pool(const ZydisDecodedOperand& operand);
bool is_stack(size_t base);
// `bytes` of the stack, where they are known.
AbstractWord from_stack(size_t base, int64_t offset, int64_t bytes, const AbstractState& state);
void to_stack(size_t base, int64_t offset, int64_t bytes, const AbstractWord& word, AbstractState& state);
// A vector of so many bits, of which these lanes depend on data.
void to_stack(size_t base, int64_t offset, int64_t bits, DataLanes lanes, AbstractState& state);
// Of an operand of memory.
AbstractWord address(const ZydisDecodedOperand& operand, const AbstractState& state);

class AbstractOperands {
 public:
  // The parameters are what the words of the argument block are. reads_constants: what the steps of an
  // epilogue take counts as constant, not as data.
  AbstractOperands(std::span<const ir::Param> params, bool reads_constants)
      : params_(params), reads_constants_(reads_constants) {}

  bool is_output(size_t base) const;
  bool depends_on_data(const ZydisDecodedOperand& operand, const AbstractState& state) const;
  // Of what guards the first `lanes` lanes of memory: a mask, or a vector of masks.
  bool guards_by_data(const ZydisDecodedOperand& operand, int lanes, const AbstractState& state) const;
  // Of a vector register or of a vector on the stack; of any other operand all lanes or none.
  DataLanes data_lanes(const ZydisDecodedOperand& operand, const AbstractState& state) const;
  // The value of a source operand of word arithmetic.
  AbstractWord source(const ZydisDecodedOperand& operand, const AbstractState& state) const;

 private:
  ir::Param::Role role(size_t base) const { return params_[base - base_param].role; }
  bool is_constant(ir::Param::Role role) const {
    return role == ir::Param::Role::table || role == ir::Param::Role::size ||
           (reads_constants_ && role == ir::Param::Role::operand);
  }
  AbstractWord loaded(const ZydisDecodedOperand& operand, const AbstractState& state) const;

  std::span<const ir::Param> params_;
  bool reads_constants_;
};

// A write, but to flags. False: to a register that kernels have no use for.
bool set(const ZydisDecodedOperand& operand, const AbstractWord& word, AbstractState& state);
// The flags after an instruction with this result.
void set_flags(const Instruction& i, const AbstractWord& word, AbstractState& state);
// Whether it does another thing for flags that depend on data, or that nobody set.
bool asks_for_flags(const Instruction& i, const AbstractState& state);

}  // namespace pooljit::jit
