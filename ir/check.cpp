#include "ir/check.h"

#include <cstdio>
#include <cstdlib>

#include "ir/error.h"

namespace pooljit::ir {

void fail_check(const char* file, int line, const char* condition, std::string_view context) {
  std::fprintf(stderr, "pooljit: internal error at %s:%d: %s\n%.*s\n", file, line, condition,
               static_cast<int>(context.size()), context.data());
  std::abort();
}

std::string to_string(const Error& error) {
  std::string text = error.id + ": " + error.message;
  if (!error.hint.empty()) text += " (" + error.hint + ")";
  return text;
}

}  // namespace pooljit::ir
