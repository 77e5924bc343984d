// The rules of frontend/rules.def as errors.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "ir/error.h"

namespace pooljit::frontend {

enum class Rule : uint8_t {
#define RULE(name, kind, text, hint) name,
#include "frontend/rules.def"
#undef RULE
};

struct RuleInfo {
  std::string_view id;  // "spec.padding"
  ir::ErrorKind kind;
  std::string_view text, hint;
};

inline constexpr RuleInfo rule_table[] = {
#define RULE(name, kind, text, hint) {"spec." #name, ir::ErrorKind::kind, text, hint},
#include "frontend/rules.def"
#undef RULE
};

constexpr const RuleInfo& info(Rule rule) { return rule_table[static_cast<int>(rule)]; }

// The Error of a broken rule. `found` names the offending value: "got -1 in dim 0". An empty hint is the
// rule's own.
tl::unexpected<ir::Error> broken(Rule rule, std::string_view found, std::string_view hint = "");
// The Error itself.
template <typename... Args>
ir::Error broke(Rule rule, fmt::format_string<Args...> found, Args&&... args) {
  return broken(rule, fmt::format(found, std::forward<Args>(args)...)).value();
}

}  // namespace pooljit::frontend
