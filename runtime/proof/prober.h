// The prober: runs code on probes and compares each output with what the oracle makes of the same plane.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runtime/code.h"
#include "runtime/proof/probes.h"
#include "runtime/proof/rounds.h"

namespace pooljit::runtime {

struct ProbeReport {
  std::array<int64_t, part_count> probes{};  // by part
  int64_t runs = 0;                          // of the kernel over all tasks
  int64_t untold = 0;                        // outputs and operands that make no difference to them
  int64_t batch = 0;                         // that the buffers held
  Rounds rounds;                             // sums: of random numbers; 0 for others
  std::string failure;                       // the first thing that is wrong; empty: nothing

  int64_t count(Part part) const { return probes[size_t(part)]; }
};

// Runs every probe on the code, all tasks at once and one by one; then the memory part: buffers against
// inaccessible pages on either side at every misalignment of the element.
//
// Code that is wrong about memory crashes: call this in a process that may die (runtime/proof/verify.h).
// Errors: "system.memory".
ir::Result<ProbeReport> probe(const Code& code, int64_t batch);

}  // namespace pooljit::runtime
