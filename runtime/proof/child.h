// Probing in a process that may die: a fork that runs the prober and reports through a pipe.
#pragma once

#include "ir/error.h"
#include "runtime/proof/prober.h"

namespace pooljit::runtime {

// The report of probe(). A crash and a run that takes too long are failures in it. Errors: "system.memory",
// "system.process".
ir::Result<ProbeReport> probe_in_child(const Code& code, int64_t batch, double seconds);

}  // namespace pooljit::runtime
