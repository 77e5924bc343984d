#include "jit/names.h"

#include <algorithm>
#include <cstdlib>

#include "jit/fork_gate.h"
#include "jit/object/gdb.h"
#include "jit/object/perf.h"

namespace pooljit::jit {

namespace {

// False: it is no such word.
bool ask(Names& names, std::string_view word) {
  bool* const asked = word == "perf"      ? &names.perf
                      : word == "jitdump" ? &names.jitdump
                      : word == "gdb"     ? &names.gdb
                                          : nullptr;
  if (asked) *asked = true;
  return asked;
}

// Returns whether all words are known; takes those that are.
bool ask_for_all(Names& names, std::string_view text) {
  bool all = true;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    all &= ask(names, text.substr(0, comma));
    more = comma != text.npos;
    text.remove_prefix(std::min(comma, text.size() - 1) + 1);
  }
  return all;
}

Names of_environment() {
  Names names;
  if (const char* const text = std::getenv("POOLJIT_NAMES"); text && *text) ask_for_all(names, text);
  return names;
}

}  // namespace

std::optional<Names> parse_names(std::string_view text) {
  Names names;
  if (!text.empty() && !ask_for_all(names, text)) return std::nullopt;
  return names;
}

Names with_environment(Names names) {
  static const Names all = of_environment();
  return {names.perf || all.perf, names.jitdump || all.jitdump, names.gdb || all.gdb};
}

std::shared_ptr<void> announce(Names names, const std::string& name, const CodeBlob& blob,
                               const ir::Program& program) {
  const HoldForks hold;
  if (names.perf) add_to_perf_map(name, blob);
  if (names.jitdump) add_to_jitdump(name, blob, program);
  return names.gdb ? register_with_gdb(name, blob) : nullptr;
}

}  // namespace pooljit::jit
