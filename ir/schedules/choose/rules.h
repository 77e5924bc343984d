// The rows of rules.def: opinions about schedules, in the order in which they are asked.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/schedules/choose/facts.h"

namespace pooljit::ir {

struct ChooserRule {
  Question question;
  std::string_view name, sentence, evidence;
  int64_t (Facts::*answer)() const;
};

std::span<const ChooserRule> rules();

// From now on the row of that name never applies, in this process; for bench/choose/judge. False if there is
// none.
bool leave_out_rule(std::string_view name);

}  // namespace pooljit::ir
