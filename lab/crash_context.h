// Reports what ran when the process crashed: a text per thread, and a handler that writes it to stderr.
#pragma once

#include <string_view>

namespace pooljit::runtime {

// The text for what this thread does from now on; long texts are cut.
void set_crash_context(std::string_view text);

// Installs the handler for memory faults and illegal instructions; the process still dies of the signal.
void report_crashes();

}  // namespace pooljit::runtime
