// measure=: the schedule of a layer by a race of a few, when its signature is first compiled. The default and
// the best others of a shortlist (ir/choose/shortlist.h) by generic cost are compiled, must give the
// default's results on data of their own, and are timed in turns on the calling thread. docs/tuning.md tells
// it for users; `pooljit tune` searches the whole space and proves what it finds.
//
// Thread-safe: nothing is shared. Nothing is kept or written here: runtime/compile.cpp does that.
#pragma once

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
  // For everything, from the shortlist to the last sample. Half of it is spent on samples whatever is left,
  // and five of each candidate are taken all the same.
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

// The schedules beside the default that are worth measuring, the cheapest by generic cost first; each makes a
// Program that none before it makes, and not the default's.
std::vector<ir::Schedule> first_use_candidates(const ir::PoolNest& nest, ir::Isa isa,
                                               const ir::Schedule& standard, size_t most);

}  // namespace pooljit::runtime
