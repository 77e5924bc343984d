// measure=: finds the schedule of a layer by timing a few, when its signature is first compiled. The default
// and those of a shortlist (ir/choose/shortlist.h) are compiled, must give the default's results on data of
// their own, and are looked at once; the fastest few are timed in turns on the calling thread. docs/tuning.md
// is the users' page; `pooljit tune` searches the whole space and proves what it finds.
//
// Thread-safe: nothing is shared. Nothing is kept or written here: runtime/compile.cpp does that.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "runtime/code.h"
#include "runtime/engines.h"
#include "runtime/measure.h"
#include "runtime/tuning/database.h"

namespace pooljit::runtime {

struct FirstUseLimits {
  // For everything, from the shortlist to the last sample; or 30 calls of the default, if that is more. Half
  // of it is spent on the shortlist, of which as many as there are candidates are tried whatever that takes;
  // of those that run to the end, five samples are taken.
  double budget_seconds = 3e-3;
  const Stopwatch& watch = thread_stopwatch();
};

struct FirstUse {
  std::shared_ptr<Code> code;
  // "measured, 6 candidates, 2.1 ms", or "the default; not measured: REASON".
  std::string origin;
  // Where something was measured: the winner, which may be the default, and the default, side by side.
  struct Times {
    Timing winner, standard;
    bool is_default = false;
  };
  std::optional<Times> times;
};

// Of a spec whose schedule nobody asked for: choices.measuring says how many candidates. Errors: those of
// making the default's code.
ir::Result<FirstUse> measure_first_use(const frontend::PoolSpec& spec, const Choices& choices,
                                       const FirstUseLimits& limits = {});

// Adds what was measured to a tuning database: `key` has the fields that entries are known by. Returns ",
// kept in FILE" or ", not kept: REASON"; nothing where there is no database or nothing was measured.
std::string keep(const FirstUse& found, TuneEntry key, const std::string& database);

// The code beside the default's that is worth trying, in the order of the shortlist, none twice, until
// `visit` says false: at most four for each candidate of choices.measuring.
void for_each_candidate(const ir::PoolNest& nest, const Choices& choices, const Code& standard,
                        const std::function<bool(std::shared_ptr<Code>)>& visit);

}  // namespace pooljit::runtime
