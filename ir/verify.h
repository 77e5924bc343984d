// Checks that a Program is valid. The rules, in prose, are the rows of ir/verify.def. Lowering and every pass
// must keep them; interpreter and back ends rely on them. There is no rule against addresses that depend on
// data because no op makes an index of lanes.
#pragma once

#include <span>
#include <string_view>

#include "ir/error.h"
#include "ir/program.h"

namespace pooljit::ir {

struct VerifyRule {
  std::string_view id;  // "verify.ssa"
  std::string_view prose;
};
std::span<const VerifyRule> verify_rules();

// The first violation: the rule's id, and a message with the line of print(program) and the instruction.
Result<void> verify(const Program& program);

}  // namespace pooljit::ir
