// Checks one spec: all engines, ISAs and schedules on the same data, special values included, compared.
//
//   - interpreter and every back end agree bit for bit for each Program (two NaNs of an average are equal);
//   - the interpreter's result is one that the oracle allows (ir/reference.h);
//   - nothing but the elements of the views is touched: buffers lie against guard pages at either end, and
//     gaps hold a pattern;
//   - the result does not depend on how the tasks are split.
//
// An access beyond a buffer crashes the process: call report_crashes() (lab/crash_context.h) first, and
// the crash says what was running.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "ir/isa.h"
#include "ir/schedule.h"
#include "runtime/engines.h"

namespace pooljit::runtime {

struct CheckOptions {
  uint64_t seed = 1;
  enum class Schedules : uint8_t {
    best,  // the default one
    all,   // all that enumerate_schedules gives, and one of each other family that can do the layer
    // For files and big matrices: all through Xbyak; one, chosen by the seed, through LLVM; fewer data for
    // all but the first. For a layer of millions of taps the interpreter runs some tasks, and the oracle
    // judges the others. For more than half a billion taps: the default, and one that the seed picks.
    some,
  } schedules = Schedules::all;
  std::optional<ir::Isa> isa = {};            // only this one; absent: all
  std::optional<ir::Schedule> schedule = {};  // only this one
  std::optional<Engine> backend = {};         // of the back ends, only this one
  // The code for all sizes at the spec's, in place of code for these alone.
  bool general = false;
  // One kind of data (lab/check_data.h), or the input's elements in logical order (lab/elements.h),
  // which are repeated if there are fewer; empty: all kinds.
  std::string data = {};
  // About how long it may take. For a layer that takes longer it makes the default schedule of each ISA and
  // others that the seed chooses. The interpreter runs some tasks of each; the oracle judges the machine
  // code's results of the others. Absent: no bound.
  std::optional<double> seconds = {};
};

struct CheckReport {
  std::string spec;        // canonical
  int64_t programs = 0;    // made: one per ISA and schedule
  int64_t left_out = 0;    // Programs that there was no time for
  int64_t runs = 0;        // results compared
  double interpreted = 1;  // the share of the tasks that the interpreter ran, over all Programs and data
  int64_t max_batch = 0;   // batches 1 to this were run; less than asked for where the tensors are large
  // Engines that could not be compared, and why: "llvm: this build lacks ...", "avx512: this machine ...", "llvm, avx2
  // <schedule>: LLVM would take long ...".
  std::vector<std::string> skipped;
  // The first difference, in a few lines: who, on which data, where, both values. Empty: all agree.
  std::string failure;
  std::string results;  // with given elements: what the first Program makes of them, a line per tensor
  bool ok() const { return failure.empty(); }
  bool is_partial() const { return left_out > 0 || interpreted < 1; }
};

// Of a spec with free dims the code for all sizes, at some that have every kind of border and tail. Errors:
// those of parse_spec; "system.memory"; "check.data"; "schedule.*" for the schedule that was given, and
// "jit.llvm.size" with backend=llvm; "general.*" with general.
ir::Result<CheckReport> check(std::string_view spec_text, const CheckOptions& options = {});

// The oracle's results for these elements, a line per tensor. Errors: those of check().
ir::Result<std::string> reference_of(std::string_view spec_text, std::string_view elements);

// For people, ending with a newline: one line if all agree.
std::string print(const CheckReport& report);

}  // namespace pooljit::runtime
