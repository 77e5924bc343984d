// What tests of campaigns share: the engines with planted faults, and what `pooljit fuzz --json` says at
// last.
#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace pooljit::fuzz {

// The path of tests/fuzz/toy_engine.c with a fault, for a line of shell.
inline std::string toy(const std::string& fault) {
  return "'" POOLJIT_TOYS "/libtoy_engine_" + fault + ".so'";
}

inline nlohmann::json summary_of(const std::string& out) {
  std::istringstream lines(out);
  std::string line, last;
  while (std::getline(lines, line)) last = line;
  return nlohmann::json::parse(last)["summary"];
}

}  // namespace pooljit::fuzz
