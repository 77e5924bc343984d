// How fast this machine moves bytes at each footprint: the roof over the points of the engines.
#pragma once

#include "tools/bench/results.h"

namespace pooljit::tools {

// The footprints in bytes: powers of two from 8 KiB to four times the last cache, of 32 MiB if it is 0 (not
// known).
std::vector<int64_t> roofline_sizes(int64_t last_cache_bytes);

// At each of these footprints for this machine's last cache, four bytes are read for each one written, as by
// a window of 2x2. The faster of ordinary and streaming stores counts. Stops early when interrupted. Errors:
// "system.memory".
ir::Result<std::vector<RooflinePoint>> measure_roofline(int threads, double seconds_per_point);

}  // namespace pooljit::tools
