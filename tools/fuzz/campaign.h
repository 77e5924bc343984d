// A fuzzing campaign: case after case, each made of the seed and its number alone, tried in child processes,
// so that a crash or an endless loop is a finding like any other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/error.h"
#include "tools/fuzz/accepted.h"
#include "tools/fuzz/against.h"
#include "tools/fuzz/cell.h"
#include "tools/fuzz/coverage.h"
#include "tools/fuzz/fuzz_case.h"
#include "tools/fuzz/shrink.h"

namespace pooljit::fuzz {

struct CampaignOptions {
  uint64_t seed = 1;
  int64_t first = 0;         // the number of the first case
  double seconds = 60;       // 0: until `count`, or for ever
  int64_t count = 0;         // cases; 0: until `seconds`, or for ever
  size_t most_failures = 5;  // different ones, after which it ends; 0: never
  double case_seconds = 10;  // of CPU time, after which a case counts as endless
  int jobs = 1;              // cases that are tried side by side; which cases there are does not depend on it
  bool count_axes = false;   // fill CampaignReport::coverage
  std::vector<FuzzCase> again = {};  // tried before the first case
  Coverage covered = {};             // by campaigns before this one
  FuzzChoices choices;
  const OtherEngine* against = nullptr;
  Accepted accepted;  // of the other engine
  ShrinkLimits shrinking;
};

struct Finding {
  int64_t number = 0;  // of the case; -1: one of CampaignOptions::again
  std::string drawn;   // its spec, as drawn
  FuzzCase smallest;
  Outcome outcome;         // of the smallest
  std::string cause = {};  // tools/fuzz/cause.h
};

struct CampaignReport {
  int64_t tried = 0, agree = 0, unsupported = 0, accepted = 0, failed = 0, runs = 0;
  int64_t next = 0;                         // the number of the first case that nobody has tried
  std::vector<Finding> failures;            // one of each cause, shrunk
  std::map<std::string, int64_t> by_cause;  // how many cases were made small to it
  std::map<std::string, int64_t> by_label;  // how often differences of each label were accepted
  std::vector<Finding> examples;            // the first of each label, shrunk
  Coverage coverage;
  std::vector<FuzzCase> kept;  // with count_axes: those that first compared a pair of settings
  double seconds = 0;
};

// Told of what happens, one call at a time.
struct CampaignEvents {
  std::function<void(const CampaignReport&)> on_progress;
  std::function<void(const Finding&)> on_failure;
  std::function<bool()> is_interrupted;
};

// Errors: "system.process", "system.memory".
ir::Result<CampaignReport> run_campaign(const CampaignOptions& options, const CampaignEvents& events);

// Tries one case in this process.
ir::Result<Outcome> try_case(const FuzzCase& one, const OtherEngine* against, const Accepted& accepted);

// The same in a process of its own, which may take so many seconds of CPU time. Errors, besides those of the
// case: none.
Outcome try_case_in(const Cell& cell, const FuzzCase& one, const OtherEngine* against,
                    const Accepted& accepted, double seconds);

}  // namespace pooljit::fuzz
