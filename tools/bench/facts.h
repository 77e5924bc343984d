// Facts that a measurement depends on.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/results.h"

namespace pooljit::tools {

// Of the machine and of this build: processor, caches, instruction sets, processors, governor, load, system,
// compiler. What the system does not say is "not known".
std::vector<Fact> machine_facts();

std::string compiler_name();  // of pooljit
std::string system_name();

// The command line of this process, as a shell would take it.
std::string command_line();

// Now, in UTC: "2026-11-21T18:00:00Z".
std::string utc_now();

}  // namespace pooljit::tools
