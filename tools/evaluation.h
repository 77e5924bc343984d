// One configuration measured, beside the default: the measuring half of somebody else's tuner.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "ir/error.h"
#include "runtime/kernel_options.h"
#include "tools/examiner.h"

namespace pooljit::tools {

class Evaluator {
 public:
  // seconds: how long a configuration is measured, and the default beside it. Errors: those of parse_spec,
  // resolve and compile; "tune.backend", "tune.empty", "schedule.unpool", "system.memory".
  static ir::Result<Evaluator> make(const std::string& spec, const runtime::Options& options, double seconds,
                                    Verdict verdict);

  // A row of samples (tools/sample_row.h) of a schedule's text, or a JSON object of parameters. A refusal is
  // a row, too. Errors: "system.*".
  ir::Result<nlohmann::ordered_json> evaluate(const std::string& configuration);

 private:
  struct Parts;
  explicit Evaluator(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<Parts> parts_;
};

}  // namespace pooljit::tools
