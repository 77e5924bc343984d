#include "jit/names.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "jit/object/gdb.h"
#include "jit/object/perf.h"

namespace pooljit::jit {

namespace {

struct Wanted {
  bool perf = false, jitdump = false, gdb = false;

  Wanted() {
    const char* const text = std::getenv("POOLJIT_NAMES");
    for (std::string_view rest = text ? text : ""; !rest.empty();) {
      const size_t end = std::min(rest.find(','), rest.size());
      const std::string_view word = rest.substr(0, end);
      perf |= word == "perf";
      jitdump |= word == "jitdump";
      gdb |= word == "gdb";
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  bool any() const { return perf || jitdump || gdb; }
};

const Wanted& wanted() {
  static const Wanted names;
  return names;
}

}  // namespace

bool names_are_wanted() { return wanted().any(); }

std::shared_ptr<void> announce(const std::string& name, const CodeBlob& blob, const ir::Program& program) {
  if (wanted().perf) add_to_perf_map(name, blob);
  if (wanted().jitdump) add_to_jitdump(name, blob, program);
  return wanted().gdb ? register_with_gdb(name, blob) : nullptr;
}

}  // namespace pooljit::jit
