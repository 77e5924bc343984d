// A fuzzing campaign: case after case, each made of the seed and its number alone, tried in child processes,
// so that a crash or an endless loop is a finding like any other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/error.h"
#include "tools/fuzz/against.h"
#include "tools/fuzz/fuzz_case.h"
#include "tools/fuzz/shrink.h"

namespace pooljit::fuzz {

struct CampaignOptions {
  uint64_t seed = 1;
  double seconds = 60;       // 0: until `count`
  int64_t count = 0;         // cases; 0: until `seconds`
  size_t most_failures = 5;  // different ones, after which it ends
  double case_seconds = 60;  // after which a case counts as endless
  FuzzChoices choices;
  const OtherEngine* against = nullptr;
  ShrinkLimits shrinking;
};

struct Finding {
  int64_t number = 0;  // of the case
  std::string drawn;   // its spec, as drawn
  FuzzCase smallest;
  Outcome outcome;  // of the smallest
};

struct CampaignReport {
  int64_t tried = 0, agree = 0, unsupported = 0, explained = 0, failed = 0, runs = 0;
  std::vector<Finding> failures;                // different ones, shrunk
  std::map<std::string, int64_t> explanations;  // how often each set of rules explained a disagreement
  std::vector<Finding> examples;                // the first of each set, shrunk
  double seconds = 0;
};

// Told of what happens.
struct CampaignEvents {
  std::function<void(const CampaignReport&)> on_progress;
  std::function<void(const Finding&)> on_failure;
  std::function<bool()> is_interrupted;
};

// Errors: "system.process", "system.memory".
ir::Result<CampaignReport> run_campaign(const CampaignOptions& options, const CampaignEvents& events);

// Tries one case in this process.
ir::Result<Outcome> try_case(const FuzzCase& one, const OtherEngine* against);

}  // namespace pooljit::fuzz
