// How busy the machine is: what times that are measured on it are worth.
#pragma once

#include <optional>
#include <string>

namespace pooljit::tools {

// How much work there was in the last minute, ours too; absent where the system does not say.
struct Load {
  std::optional<double> average;
  int processors = 1;  // of the machine
};
Load load_of_minute();
std::string print(const Load& load);

// Others work on this machine, too: the load is above the processors.
bool is_busy(const Load& load);

}  // namespace pooljit::tools
