#include "tools/interrupt.h"

#include <atomic>
#include <csignal>

namespace pooljit::tools {
namespace {

// Read by all threads that work. A handler may only touch what takes no lock.
std::atomic<bool> interrupt_seen = false;
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

void catch_interrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupt_seen = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return interrupt_seen; }

}  // namespace pooljit::tools
