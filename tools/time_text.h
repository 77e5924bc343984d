// Times for people, "7.387 us +- 2.0 %", and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/measure.h"

namespace pooljit::tools {

std::string time_text(double seconds);
// Right-aligned, with its spread.
std::string time_text(const Timing& timing);
// Median and quartiles in seconds, and how often it was measured.
nlohmann::ordered_json time_json(const Timing& timing);

}  // namespace pooljit::tools
