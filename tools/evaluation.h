// One configuration measured: what `pooljit evaluate` prints a line of, and `pooljit tune --samples` keeps.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "frontend/pool_spec.h"
#include "ir/agreement.h"
#include "runtime/engines.h"
#include "runtime/kernel.h"
#include "runtime/kernel_options.h"
#include "runtime/measure.h"
#include "runtime/tuning/workload.h"
#include "tools/counters.h"

namespace pooljit::tools {

// How a configuration's results are looked at.
enum class Verdict : uint8_t {
  none,     // not at all
  compare,  // with the oracle's, on the data that is measured with
  verify,   // proved for every input, as `pooljit verify` does
};

// "samples", "median", "first_quartile", "third_quartile", "spread" of seconds per call.
void put_times(nlohmann::ordered_json& row, const runtime::Samples& samples);

// "verdict" (proved, checked, wrong, unproved), "left" or "why": of the schedule's machine code.
nlohmann::ordered_json prove(const std::string& spec, runtime::Choices choices, const ir::Schedule& schedule);

// The date and time in ISO 8601, UTC.
std::string timestamp();

class Evaluator {
 public:
  // Errors: those of parse_spec, resolve and compile; "tune.backend", "tune.empty", "schedule.unpool",
  // "system.memory".
  static ir::Result<Evaluator> make(const std::string& spec, const runtime::Options& options, double seconds,
                                    Verdict verdict);

  // Of a schedule's text, or a JSON object of parameters. A refusal is a row, too. Errors: "system.*".
  ir::Result<nlohmann::ordered_json> evaluate(const std::string& configuration);

 private:
  struct Parts;
  explicit Evaluator(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<Parts> parts_;  // what refers to each other stays in its place
};

}  // namespace pooljit::tools
