// Ctrl-C as a question that a long loop asks between two steps. A second one ends the process the hard way.
#pragma once

namespace pooljit::tools {

void catch_interrupt();
bool interrupted();

}  // namespace pooljit::tools
