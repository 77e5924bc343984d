// How far the results of a schedule's machine code were checked or proved: the "proof" of a row of samples.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "ir/error.h"
#include "runtime/kernel.h"
#include "runtime/kernel_options.h"
#include "runtime/tuning/workload.h"

namespace pooljit::tools {

// How results are looked at.
enum class Verdict : uint8_t {
  none,     // not at all
  compare,  // with the oracle's, on the data that is measured with
  verify,   // proved for every input, as `pooljit verify` does
};

class Examiner {
 public:
  // `any`: a kernel of the spec. Errors: those of resolve; "system.memory".
  static ir::Result<Examiner> make(const runtime::Kernel& any, const runtime::Options& options,
                                   Verdict verdict);

  // "verdict" (none, checked, proved, wrong, unproved), "left" or "why", "by" (oracle, proof), "seconds".
  // Errors: those of running the kernel.
  ir::Result<nlohmann::ordered_json> examine(const runtime::Kernel& kernel);

  // The memory that kernels are compared on: they can be measured on it, too.
  const runtime::Workload& workload() const;

 private:
  struct Parts;
  explicit Examiner(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<Parts> parts_;  // what refers to each other stays in its place
};

}  // namespace pooljit::tools
