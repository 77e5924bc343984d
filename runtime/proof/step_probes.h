// Probes of the steps of an epilogue: which element of each operand an output takes, and what the steps make
// of values. (docs/notes/proof.md has the argument.)
#pragma once

#include "runtime/proof/expected.h"
#include "runtime/proof/probes.h"

namespace pooljit::runtime {

struct StepProbes {
  // Outputs of a plane, counted for each operand, that are the same whatever the operand is.
  int64_t untold = 0;
};

// Visits all of them; visit returns false to stop.
StepProbes for_each_step_probe(const ir::PoolNest& nest, int64_t batch, const Oracle& oracle,
                               const Visit& visit);

}  // namespace pooljit::runtime
