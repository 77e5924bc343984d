// Times for people: "7.387 us +- 2.0 %".
#pragma once

#include <string>

#include "tools/measure.h"

namespace pooljit::tools {

std::string time_text(double seconds);
// Right-aligned, with its spread.
std::string time_text(const Timing& timing);

}  // namespace pooljit::tools
