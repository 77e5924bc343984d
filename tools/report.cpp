#include <fmt/format.h>

#include <cstdio>

#include "tools/command.h"

namespace pooljit::tools {

Exit exit_of_error(const ir::Error& error) {
  switch (error.kind) {
    case ir::ErrorKind::invalid:
      return Exit::invalid;
    case ir::ErrorKind::unsupported:
      return Exit::unsupported;
    case ir::ErrorKind::system:
      return Exit::system;
  }
  return Exit::system;
}

Exit report(const ir::Error& error) {
  fmt::print(stderr, "pooljit: {}: {}\n", error.id, error.message);
  if (!error.hint.empty()) fmt::print(stderr, "hint: {}\n", error.hint);
  return exit_of_error(error);
}

std::string exit_code_help() {
  std::string text = "Exit codes:\n";
#define EXIT(name, code, meaning) text += fmt::format("  {:3}  {}\n", code, meaning);
#include "tools/exit_codes.def"
#undef EXIT
  return text;
}

}  // namespace pooljit::tools
