// Proof of code for all extents: at sizes that together have every kind of border, tail and loop that the
// code tells apart. At any other size it runs the same loops with other counts and strides, which it reads
// from that size's words.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/proof/verify.h"

namespace pooljit::runtime {

// The extents of all spatial dims, smallest sizes first. For each free dim the least extent of every kind,
// combined with the least extents of the others, with extents that have all kinds of windows, and with rows
// that each part of the code takes. For the innermost dim also each number of outputs behind whole vectors,
// for their masks. A loop of the code runs no time, once and more often at these sizes, if it does so at any;
// proof.loops tests that. A function of spec and schedule.
std::vector<std::vector<int64_t>> sizes_to_prove(const frontend::PoolSpec& free_spec,
                                                 const ir::Schedule& schedule);

// Code that was made for all sizes of the spec, by these choices. Errors: those of prove_code.
ir::Result<Proof> prove_general(const CodePtr& general, const frontend::PoolSpec& free_spec,
                                const Choices& choices, const ProofLimits& limits = {});

// Makes it and proves it. Errors: also those of make_general_code.
ir::Result<Proof> verify_general(const frontend::PoolSpec& free_spec, const Choices& choices,
                                 const ProofLimits& limits);

}  // namespace pooljit::runtime
