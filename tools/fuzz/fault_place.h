// Which byte of which buffer a fault touched: "read 4 bytes before the input". For child processes whose
// buffers lie against guard pages.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace pooljit::fuzz {

struct WatchedBuffer {
  const char* name;  // lasts as long as the process
  std::span<const std::byte> bytes;
};
// From now on these are meant, at most four.
void watch_buffers(std::span<const WatchedBuffer> buffers);

// Has a fault say on stderr where it was; the process still dies of the signal.
void report_faults();

}  // namespace pooljit::fuzz
