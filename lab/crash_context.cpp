#include "lab/crash_context.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

namespace pooljit::runtime {
namespace {

thread_local char context[1024] = "";

void write_text(const char* text) {
  // Nothing can be done if this fails.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

// A fault is delivered to the thread that made it, so the context is the right one. The default action,
// restored by SA_RESETHAND, ends the process.
void handle(int signal) {
  write_text("\npooljit: crashed while running ");
  write_text(context);
  write_text("\n");
  std::raise(signal);
}

}  // namespace

void set_crash_context(std::string_view text) {
  const size_t length = std::min(text.size(), sizeof context - 1);
  std::copy_n(text.data(), length, context);
  context[length] = '\0';
}

void report_crashes() {
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) sigaction(signal, &action, nullptr);
}

}  // namespace pooljit::runtime
