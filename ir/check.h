// A bug of ours: say where and what, show the program if there is one, abort. Never for a caller's mistake.
#pragma once

#include <string_view>

namespace pooljit::ir {

[[noreturn]] void fail_check(const char* file, int line, const char* condition, std::string_view context);

}  // namespace pooljit::ir

// POOLJIT_CHECK(condition, context): `context` is anything that makes a string_view, e.g. print(program).
#define POOLJIT_CHECK(condition, context) \
  (static_cast<bool>(condition) ? void(0) \
                                : ::pooljit::ir::fail_check(__FILE__, __LINE__, #condition, (context)))
