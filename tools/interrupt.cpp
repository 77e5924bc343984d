#include "tools/interrupt.h"

#include <csignal>

namespace pooljit::tools {
namespace {

volatile std::sig_atomic_t interrupt_seen = 0;

}  // namespace

void catch_interrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupt_seen = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return interrupt_seen != 0; }

}  // namespace pooljit::tools
