// A kernel's machine code executed once in the symbolic domain, over all tasks of a nest: what it leaves in
// each place of the outputs, for every input at once.
#pragma once

#include <span>

#include "ir/error.h"
#include "ir/nest.h"
#include "proof/bytes/kernel_memory.h"
#include "proof/program/prove.h"

namespace pooljit::jit::x86 {

struct RunLimits {
  int64_t steps = 100'000'000;  // instructions
};

// planes: of which terms are wanted; empty: of all.
// Errors, with the place and text of an instruction: "prove.wrong": an access that no element owns;
// "prove.code": it has no row, or data is where a number has to be; others: "prove.unsupported": what no term
// says; "prove.size": the limits; "decoder.missing".
ir::Result<ir::StoredTerms> run_symbolically(const KernelCode& kernel, const ir::PoolNest& nest,
                                             int64_t batch, ir::TermGraph& graph,
                                             const RunLimits& limits = {},
                                             std::span<const ir::PlaneIndex> planes = {});

// The exceptions of a run of code, as an error.
ir::Error refusal(const KernelCode& kernel, const Refused& refused);

}  // namespace pooljit::jit::x86
