// The rules of ir/verify.def that need no more than one instruction and the types of its values.
#pragma once

#include <optional>
#include <string>

#include "ir/program.h"

namespace pooljit::ir {

enum class ProgramRule : uint8_t {
#define VERIFY_RULE(rule, prose) rule,
#include "ir/verify.def"
#undef VERIFY_RULE
};

struct Violation {
  ProgramRule rule;
  std::string message;
};

// Its values exist and are as many as the op has.
std::optional<Violation> check_types(const Program& program, const Inst& inst);
std::optional<Violation> check_attributes(const Program& program, const Inst& inst);

}  // namespace pooljit::ir
