// `pooljit tune` over a list of specs: searches or sweeps one after the other, keeps what it finds, and goes
// on where an earlier session stopped.
#pragma once

#include <string>
#include <vector>

#include "runtime/kernel_options.h"
#include "tools/command.h"
#include "tools/examiner.h"
#include "tools/problem_file.h"

namespace pooljit::tools {

struct TuneArguments {
  std::vector<std::string> specs;
  std::string file, database = "pooljit-tune.db";
  double budget = 0;        // seconds; 0: some each
  double seconds_each = 0;  // for each schedule while searching; 0: as the time suffices
  bool again = false, exhaustive = false, skip_scalar = false, json = false;
  std::string samples;                // a file for all that is measured
  Verdict verdict = Verdict::verify;  // of these; none: nothing is proved, and the database stays as it is
  std::vector<std::string> merge;     // databases to be put into the other one
  std::string exported, cpu;          // the format that is written to stdout, and of which machine
  runtime::Options options;
};

// Errors: those of the database and of the file of samples. What is wrong with a spec is printed.
ir::Result<Exit> run_tune_session(const TuneArguments& arguments, std::vector<Problem> problems);

}  // namespace pooljit::tools
