// How fast this machine moves bytes when nothing else is to be done: the yardstick that `pooljit bench` holds
// a kernel to. Compiled like plain_loop.cpp, for the building machine; see there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pooljit::tools {

// Reads all of `input` once and writes all of `output` once, the two interleaved in small chunks, as a
// pooling kernel does: the same footprint and the same ratio of reads to writes. Part `part` of `parts` of
// both, so that threads can share it. `streaming`: the stores go past the cache. Both pointers on a cache
// line; ends are rounded down to one.
struct CopyJob {
  const void* input;
  size_t input_bytes;
  void* output;
  size_t output_bytes;
};
void copy_part(const CopyJob& job, size_t part, size_t parts, bool streaming);

}  // namespace pooljit::tools
