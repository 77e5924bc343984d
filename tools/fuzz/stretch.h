// A child process's report of the cases that it tried (tools/fuzz/campaign.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/fuzz/coverage.h"
#include "tools/fuzz/fuzz_case.h"
#include "tools/fuzz/outcome.h"

namespace pooljit::fuzz {

struct CaseStretch {
  int64_t tried = 0, agree = 0, unsupported = 0, runs = 0;
  double slowest = 0;  // CPU seconds of a case
  std::map<std::string, int64_t> by_label;
  Coverage coverage;
  std::vector<FuzzCase> kept;
  // Draws that are more than a number: those that failed, and the first accepted one of each label.
  std::vector<std::pair<int64_t, Outcome>> notable;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CaseStretch, tried, agree, unsupported, runs, slowest, by_label, coverage,
                                   kept, notable)

}  // namespace pooljit::fuzz
