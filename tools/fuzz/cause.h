// The common cause of findings: what failed, the features of the smallest layer that
// shows it, and where in the output.
#pragma once

#include <string>

#include "tools/fuzz/fuzz_case.h"
#include "tools/fuzz/outcome.h"

namespace pooljit::fuzz {

// "differs: max float32, padding, dilation, NHWC; output, last column". The same text: taken for one cause.
std::string cause_of(const FuzzCase& smallest, const Outcome& outcome);

}  // namespace pooljit::fuzz
