// Which differences of another engine are accepted: none, all that are known, or those that the user names,
// in the layers that he names.
#pragma once

#include <string>
#include <vector>

#include "ir/error.h"
#include "tools/fuzz/explain.h"
#include "tools/fuzz/outcome.h"

namespace pooljit::fuzz {

struct AcceptedDifference {
  std::string what;    // of a divergence (tools/fuzz/divergences.def) or a failure (tools/fuzz/failures.def)
  std::string layers;  // a pattern that the canonical spec matches; "*": any
  std::string reason;
};

struct AcceptanceOptions {
  bool strict = false;             // nothing but what the others name
  std::vector<std::string> allow;  // names, for any layer
  std::string known;               // a file of lines NAME<TAB>LAYERS<TAB>REASON
};

class Accepted {
 public:
  // Without options every known divergence is accepted, and no other failure. Errors: "fuzz.allow",
  // "fuzz.known"; "file.open", "file.read".
  static ir::Result<Accepted> make(const AcceptanceOptions& options = {});

  bool is_named() const { return is_named_; }
  // Divergences that are accepted of the layer.
  std::vector<Divergence> divergences_of(const std::string& spec) const;
  // A failure whose kind is accepted of the layer becomes Verdict::accepted.
  Outcome settled(Outcome outcome, const std::string& spec) const;
  // Why a difference of this label is accepted of the layer, a line for each reason that was given.
  std::string reasons(const std::string& label, const std::string& spec) const;

 private:
  bool accepts(const std::string& what, const std::string& spec) const;
  std::vector<AcceptedDifference> rows_;
  bool is_named_ = false;
};

}  // namespace pooljit::fuzz
