#include "tools/load.h"

#include <fmt/format.h>
#include <unistd.h>

namespace pooljit::tools {

Load load_of_minute() {
  double average = 0;
  Load load{.average = {}, .processors = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN))};
  if (::getloadavg(&average, 1) == 1) load.average = average;
  return load;
}

std::string print(const Load& load) {
  return load.average ? fmt::format("{:.2f}", *load.average) : "not known";
}

bool is_busy(const Load& load) { return load.average && *load.average > load.processors; }

}  // namespace pooljit::tools
