// What a measurement depends on and is worth saying with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/bench/results.h"

namespace pooljit::tools {

// Of the machine and of this build: processor, caches, instruction sets, processors, governor, load, system,
// compiler. What the system does not say is "not known".
std::vector<Fact> machine_facts();

std::string compiler_name();  // of pooljit
std::string system_name();

// How much work there was in the last minute, ours too; absent where the system does not say.
struct Load {
  std::optional<double> average;
  int processors = 1;  // that this process may use
};
Load load_of_minute();
// Others work on this machine, too: the load is above the processors.
bool is_busy(const Load& load);
// Half the distance of the quartiles, as a share of the median, beyond which something disturbed.
inline constexpr double most_spread = 0.1;

std::string load_text(const Load& load);

// The command line of this process, as a shell would take it.
std::string command_line();

// Now, in UTC: "2026-11-21T18:00:00Z".
std::string utc_now();

}  // namespace pooljit::tools
