// Machine code as the proof of proof/bytes/inspect.h reads it: the instructions that control can reach from
// the entry, and where it goes from each. It refuses code that it cannot follow, and instructions that the
// code's instruction set does not promise.
#pragma once

#include <Zydis/Zydis.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "jit/backend.h"

namespace pooljit::jit {

// Thrown if the code does something forbidden, or something that cannot be followed; `at` is an offset into
// the code.
struct Refused {
  size_t at;
  std::string why;
  bool is_wrong = false;  // it was followed, and must not do it
};

struct Instruction {
  size_t offset = 0;
  ZydisDecodedInstruction info{};
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands{};

  std::span<const ZydisDecodedOperand> all() const { return {operands.data(), info.operand_count}; }
  size_t end() const { return offset + info.length; }
};

enum class RegisterKind : uint8_t { none, word, vector, mask, flags, other };
struct RegisterName {
  RegisterKind kind = RegisterKind::none;
  size_t number = 0;
  int bits = 0;
  bool is_low = true;  // its bits are the lowest of the register
};

const RegisterName* register_names();  // by ZydisRegister
inline const RegisterName& name_of(ZydisRegister reg) { return register_names()[reg]; }

bool reads(const ZydisDecodedOperand& operand);
bool writes(const ZydisDecodedOperand& operand);
bool may_keep(const ZydisDecodedOperand& operand);
bool is_memory(const ZydisDecodedOperand& operand);
bool is_branch(const Instruction& instruction);

class DecodedCode {
 public:
  // Throws Refused.
  explicit DecodedCode(const CodeBlob& blob);

  const std::map<size_t, Instruction>& instructions() const { return instructions_; }
  size_t entry() const { return entry_; }
  // Where control goes from an instruction.
  std::vector<size_t> successors(const Instruction& i) const;
  bool is_target(size_t offset) const { return targets_.contains(offset); }

 private:
  Instruction decode(size_t offset) const;
  size_t target(const Instruction& branch) const;
  void take(size_t offset);

  std::span<const uint8_t> code_;
  ir::Isa isa_;
  size_t entry_;
  std::map<size_t, Instruction> instructions_;
  std::set<size_t> targets_;  // of branches
};

// The instruction there, for people.
std::string text_of(std::span<const uint8_t> code, size_t offset);

}  // namespace pooljit::jit
