// The options by which `pooljit fuzz` and `pooljit check` say which other engine they try, and what of its
// differences they accept.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/fuzz/accepted.h"
#include "tools/fuzz/against.h"

namespace pooljit::tools {

struct AgainstOptions {
  std::string library;
  fuzz::AcceptanceOptions acceptance;
  double case_seconds = 10;
};

// --against, --strict, --allow, --known and --case-seconds. Returns --against.
CLI::Option* add_against(CLI::App& command, AgainstOptions& options);

// What is accepted of that engine: by its rules, which it is asked about where the options leave them in, and
// by what the user named. Errors: those of Accepted::make and learn_rules.
ir::Result<fuzz::Accepted> accepted_of(const fuzz::OtherEngine& engine, const AgainstOptions& options);

}  // namespace pooljit::tools
