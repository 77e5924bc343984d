// How far the caches next to a core reach, from how long loads take: what a virtual machine cannot hide.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/machine.h"

namespace pooljit::tools {

// Loads that wait for each other, all over so many bytes.
struct LoadTime {
  int64_t bytes = 0;
  double nanoseconds = 0;  // of one load
};

// From 8 KiB to 4 MiB in half steps, the least of five tries each; in about 10 ms.
std::vector<LoadTime> measure_loads();

// L1 and L2 (L3 stays 0): where loads begin to take longer, twice. Each looks up to a step smaller than it is
// where another thread uses it, L2 also where pages meet in it. 0: no such step shows. The bytes of `loads`
// ascend.
ir::Caches caches_of_loads(std::span<const LoadTime> loads);

}  // namespace pooljit::tools
