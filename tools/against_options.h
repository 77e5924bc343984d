// The options by which `pooljit fuzz` and `pooljit check` say which other engine they try, and what of its
// differences they accept.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/fuzz/accepted.h"

namespace pooljit::tools {

struct AgainstOptions {
  std::string library;
  fuzz::AcceptanceOptions acceptance;
  double case_seconds = 10;
};

// --against, --strict, --allow, --known and --case-seconds. Returns --against.
CLI::Option* add_against(CLI::App& command, AgainstOptions& options);

}  // namespace pooljit::tools
