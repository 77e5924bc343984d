// Searches the schedules of one spec for the fastest: in the order of the cost model, measured in turns with
// the default, stopped when nothing better comes. What it accepts is faster by more than the noise of both
// and proved right. docs/tuning.md tells it for users.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/compile.h"
#include "runtime/kernel_options.h"
#include "runtime/measure.h"
#include "runtime/tuning/database.h"

namespace pooljit::runtime {

// What was measured of a schedule, side by side with the default and others.
struct TuneSample {
  ir::Schedule schedule;
  bool is_default = false;
  bool is_final = false;  // of the last, longer round
  double compile_seconds = 0;
  Samples samples;
};

struct TuneLimits {
  double seconds = 5;  // for all of the search but proving
  // Goes on until every candidate is measured or the time is over, and not only while better ones come.
  bool spend = false;
  // Measures every candidate, whatever time that takes.
  bool exhaustive = false;
  // Told of everything that was measured.
  std::function<void(const TuneSample&)> measured = [](const TuneSample&) {};
  // Asked between two measurements: true ends the search without a result.
  std::function<bool()> stopped = [] { return false; };
  // Told what is being done.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct TuneResult {
  TuneEntry entry;
  Timing best, standard;  // of the final; equal if the default stays
  size_t legal = 0;       // schedules that make different Programs
  size_t measured = 0;
  std::vector<std::string> notes;  // what was measured to be better, and why it was not taken
};

// What a database would know the result by. Errors: those of parse_spec and resolve; "tune.backend",
// "schedule.unpool".
ir::Result<TuneEntry> tune_key(std::string_view spec_text, const Options& options);

// Errors: those of compile; "tune.backend" (an engine that runs no machine code), "tune.stopped",
// "tune.empty", "schedule.unpool".
ir::Result<TuneResult> tune(std::string_view spec_text, const Options& options, const TuneLimits& limits);

// True if `challenger` is faster than `holder` by more than the spread of both.
bool is_clearly_faster(const Timing& challenger, const Timing& holder);

}  // namespace pooljit::runtime
