// Machine code as a list of steps: what is the same each time that an instruction is executed.
#pragma once

#include <cstddef>
#include <vector>

#include "jit/machine_code.h"
#include "proof/bytes/table.h"

namespace pooljit::jit::x86 {

struct CodeStep {
  enum class Kind : uint8_t { vector, word, jump, branch, zero_upper, nothing, ret };
  Kind kind = Kind::word;
  Instruction instruction;         // without the operand that is a write mask
  const VectorRow* row = nullptr;  // of a vector instruction
  size_t target = 0;               // of a jump or branch: the number of the step there
};

// In the order in which the instructions lie: without a jump the next one follows.
class Steps {
 public:
  explicit Steps(const DecodedCode& code);

  const CodeStep& operator[](size_t number) const { return steps_[number]; }
  size_t entry() const { return entry_; }

 private:
  std::vector<CodeStep> steps_;
  size_t entry_ = 0;
};

}  // namespace pooljit::jit::x86
