#include "tools/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace pooljit::tools {

Progress::Progress(size_t total) : total_(total), shown_(::isatty(STDERR_FILENO) != 0) {}

void Progress::show(size_t number, const std::string& name) const {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K[{}/{}] {}", number, total_, name);
  std::fflush(stderr);
}

void Progress::clear() const {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

}  // namespace pooljit::tools
