#include "tools/fuzz/fault_place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>

namespace pooljit::fuzz {
namespace {

// Read by a handler, in a process that tries one case at a time.
constinit std::array<WatchedBuffer, 4> watched = {};
constinit size_t watched_count = 0;

// How far beyond a buffer an access is still told as one of it.
constexpr uintptr_t near = uintptr_t{1} << 16;

struct NearestBuffer {
  const char* buffer = nullptr;
  uintptr_t distance = near;
  bool is_before = false;
};

NearestBuffer nearest_place(uintptr_t fault) {
  NearestBuffer nearest;
  for (const WatchedBuffer& buffer : std::span(watched).first(watched_count)) {
    const auto begin = reinterpret_cast<uintptr_t>(buffer.bytes.data()), end = begin + buffer.bytes.size();
    if (fault < begin && begin - fault < nearest.distance) nearest = {buffer.name, begin - fault, true};
    if (fault >= end && fault - end < nearest.distance) nearest = {buffer.name, fault - end, false};
  }
  return nearest;
}

// Allocates nothing: it runs in a handler.
void say_place(uintptr_t fault) {
  const NearestBuffer place = nearest_place(fault);
  if (!place.buffer) return;
  std::array<char, 160> text;
  const auto written = fmt::format_to_n(text.data(), text.size(), "it touched the byte {} {} the {}\n",
                                        place.is_before ? place.distance : place.distance + 1,
                                        place.is_before ? "before" : "behind", place.buffer);
  // If it cannot be said, the signal alone has to do.
  (void)!::write(STDERR_FILENO, text.data(), std::min(written.size, text.size()));
}

}  // namespace

void watch_buffers(std::span<const WatchedBuffer> buffers) {
  watched_count = std::min(buffers.size(), watched.size());
  std::copy_n(buffers.begin(), watched_count, watched.begin());
}

void report_faults() {
  struct sigaction action = {};
  // The first fault goes back to the instruction, which then ends the process.
  action.sa_sigaction = [](int, siginfo_t* info, void*) {
    say_place(reinterpret_cast<uintptr_t>(info->si_addr));
  };
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_RESETHAND);
  ::sigaction(SIGSEGV, &action, nullptr);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace pooljit::fuzz
