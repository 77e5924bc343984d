// A child process for work that may crash or never end: its result comes back, and how it ended.
#pragma once

#include <functional>
#include <string>

#include "ir/error.h"

namespace pooljit::runtime {

struct ChildEnd {
  std::string said;
  int signal = 0;          // that it died of; 0: it ended by itself
  bool timed_out = false;  // it was killed
};

// Forks; the child sends what `work` returns and ends at once, without destructors. A fault's signal ends it,
// whatever handlers the application has. It ends with its parent, and when `is_late` says so, which is asked
// at least once a second. Errors: "system.process".
ir::Result<ChildEnd> run_in_child(const std::function<std::string()>& work,
                                  const std::function<bool()>& is_late);
// The same: late after so many seconds.
ir::Result<ChildEnd> run_in_child(const std::function<std::string()>& work, double seconds);

// In a forked child: forgets threads of the parent that were inside run_in_child().
void forget_children_in_child();

}  // namespace pooljit::runtime
