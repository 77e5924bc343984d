// The rows of rules.def: opinions about schedules, in the order in which they are asked.
#pragma once

#include <span>
#include <string_view>

#include "ir/schedules/choose/facts.h"

namespace pooljit::ir {

struct ChooserRule {
  Question question;
  std::string_view name, sentence, evidence;
  int64_t (Facts::*answer)() const;
};

std::span<const ChooserRule> rules();

// The subject of the row's question; the measurement behind the row, or behind all rows of its question.
std::string_view meaning(const ChooserRule& rule);
std::string_view evidence(const ChooserRule& rule);

// From now on that row never applies, in this process (null: all do); for bench/choose/judge --rules.
void leave_out(const ChooserRule* rule);

}  // namespace pooljit::ir
