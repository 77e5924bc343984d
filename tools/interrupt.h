// Ctrl-C as a question that a long loop asks between two steps. A second Ctrl-C ends the process at once.
#pragma once

namespace pooljit::tools {

void catch_interrupt();
bool interrupted();

}  // namespace pooljit::tools
