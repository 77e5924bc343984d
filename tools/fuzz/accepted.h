// Which differences of another engine are accepted: those that follow from rules that it keeps, as its probes
// show (tools/fuzz/engine_rules.h), and those that the user names, in the layers that he names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/error.h"
#include "tools/fuzz/explain.h"
#include "tools/fuzz/outcome.h"

namespace pooljit::fuzz {

struct AcceptedDifference {
  // Of a divergence or a known bug (tools/fuzz/divergences.def, faults.def) or a failure (failures.def);
  // "inconsistent:RULE" of a divergence that the engine does not keep here.
  std::string what;
  std::string
      layers;  // a pattern that the canonical spec matches, " !" and others that it must not; "*": any
  std::string reason;
  bool is_rule = false;  // which the engine has to keep everywhere in those layers
};

struct AcceptanceOptions {
  bool strict = false;             // nothing but what the others name, not even the engine's own rules
  std::vector<std::string> allow;  // names, for any layer; in place of the rules
  // Bugs: a file of lines NAME<TAB>LAYERS<TAB>REASON, behind which more fields may stand: the engine's
  // version, the smallest case, whether it is fixed upstream.
  std::string known;

  bool takes_rules() const { return !strict && allow.empty(); }
};

class Accepted {
 public:
  // rules: what the engine showed, left aside if the options say so. Errors: "fuzz.allow", "fuzz.known";
  // "file.open", "file.read".
  static ir::Result<Accepted> make(const AcceptanceOptions& options = {},
                                   std::span<const AcceptedDifference> rules = {});

  // Divergences and bugs that are accepted of the layer.
  std::vector<Divergence> divergences_of(const std::string& spec) const;
  // Those of them that are rules, which the engine has to keep.
  KeptRules rules_of(const std::string& spec) const;
  // A failure whose label is accepted of the layer becomes Verdict::accepted.
  Outcome settled(Outcome outcome, const std::string& spec) const;
  // Why a difference of this label is accepted of the layer, a line for each reason that was given.
  std::string reasons(const std::string& label, const std::string& spec) const;

 private:
  bool accepts(const std::string& what, const std::string& spec) const;
  std::vector<Divergence> differences_of(const std::string& prefix, const std::string& spec,
                                         bool only_rules) const;
  std::vector<AcceptedDifference> rows_;
};

}  // namespace pooljit::fuzz
