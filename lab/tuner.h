// Searches the schedules of one spec for the fastest: in the order of the cost model, measured in turns with
// the default, stopped when nothing better comes. It accepts a schedule that is faster by more than the noise
// of both and proved right. docs/tuning.md is the users' page.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/compile.h"
#include "runtime/kernel_options.h"
#include "runtime/measure.h"
#include "runtime/tuning/database.h"

namespace pooljit::runtime {

// The measurements of a schedule, side by side with the default and others.
struct TuneSample {
  KernelPtr kernel;
  bool is_default = false;
  double compile_seconds = 0;
  Samples samples;
  KernelPtr reference;  // the default's, in the same turns
  Samples reference_samples;
  int64_t preemptions = 0;  // how often another thread took the core meanwhile
  size_t space = 0;         // how many schedules there are to be measured; 0: not counted

  // Its time over the reference's: the median of the ratios of neighbouring samples.
  double ratio() const;
};

struct TuneLimits {
  double seconds = 5;  // for all of the search but proving the winner
  // Goes on until every candidate is measured or the time is over, and not only while better ones come.
  bool spend = false;
  // Measures every candidate. Without `spend`, whatever time that takes.
  bool exhaustive = false;
  // How long each candidate is measured while searching; 0: as the time suffices.
  double seconds_each = 0;
  // Leaves out schedules that compute one output at a time, if there are others.
  bool skip_scalar = false;
  // The ratio to the default of what is measured already, and is not measured again.
  std::function<std::optional<double>(const ir::Schedule&)> known = [](const ir::Schedule&) {
    return std::nullopt;
  };
  // Told of everything that was measured. Its errors end the search.
  std::function<ir::Result<void>(const TuneSample&)> measured = [](const TuneSample&) {
    return ir::Result<void>();
  };
  // Asked between two measurements: true ends the search without a result.
  std::function<bool()> stopped = [] { return false; };
  // Told what is being done.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct TuneResult {
  TuneEntry entry;
  Timing best, standard;           // of the final; equal if the default stays
  size_t legal = 0;                // schedules that make different Programs
  size_t space = 0;                // of these, those to be measured, the default among them
  size_t measured = 0;             // but for the default; also those that were known
  bool is_complete = false;        // all that there are to be measured were
  std::vector<std::string> notes;  // what was measured to be better, and why it was not taken
};

// The key of the result in a database. Errors: those of parse_spec and resolve; "tune.backend",
// "schedule.unpool".
ir::Result<TuneEntry> tune_key(std::string_view spec_text, const Options& options);

// Errors: those of compile; "tune.backend" (an engine that runs no machine code), "tune.stopped",
// "tune.empty", "schedule.unpool".
ir::Result<TuneResult> tune(std::string_view spec_text, const Options& options, const TuneLimits& limits);

// Measures only: nothing meets again in a final, nothing is proved, and the entry has no schedule. The same
// errors.
ir::Result<TuneResult> sweep(std::string_view spec_text, const Options& options, const TuneLimits& limits);

}  // namespace pooljit::runtime
