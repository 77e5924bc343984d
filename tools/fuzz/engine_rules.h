// Which rules another engine follows where engines differ: what it makes of about 40 windows, each of one or
// two that tell (tools/fuzz/probes.h). A campaign begins with them: a difference that follows from a rule is
// accepted in all layers of the kind, and the rule has to be kept there.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir/error.h"
#include "tools/fuzz/accepted.h"
#include "tools/fuzz/against.h"

namespace pooljit::fuzz {

// The rule that one dtype's probe found.
struct RuleFound {
  std::string aspect, dtype;
  std::string rule;                      // in words, or what it gave
  bool is_ours = false;                  // it is what docs/semantics.md says
  std::vector<std::string> divergences;  // what it follows from, if it is not
  std::string layers;                    // a pattern: those that have to keep it
  std::string spec;                      // of the probe
  std::vector<std::string> input, gave;  // elements; indices behind an @
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RuleFound, aspect, dtype, rule, is_ours, divergences, layers, spec, input,
                                   gave)

struct EngineRules {
  std::string version;
  std::vector<RuleFound> found;  // of what the engine does

  std::vector<AcceptedDifference> accepted() const;
  // A row for each aspect: the rules, with the dtypes where they are not the same for all.
  std::string table() const;
};

// In processes of their own. Errors: "system.process", "system.memory".
ir::Result<EngineRules> learn_rules(const OtherEngine& engine, double case_seconds);

}  // namespace pooljit::fuzz
