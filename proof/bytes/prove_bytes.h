// Is machine code its nest? Not for some input: for every input, and without a run of the code. Two runs over
// the bytes, by proof/bytes/executor.h:
//   fingerprints: of the whole tensor. They say of each output in which way it was made, that it takes in no
//     plane (a batch and a channel) but its own, and which planes are made in the same way;
//   terms: of one plane of each such kind. The terms in its outputs are read (proof/program/prove.h).
// Then calls for some of the tasks only: each has to leave what the whole leaves there, and nothing else.
#pragma once

#include <cstdint>

#include "ir/error.h"
#include "ir/nest.h"
#include "proof/bytes/kernel_memory.h"

namespace pooljit::jit::x86 {

struct BytesLimits {
  double taps = 3e6;                // of the planes that are run over terms; some microseconds each
  int64_t steps = 10'000'000;       // instructions of a run of the whole tensor; half a microsecond each
  int64_t range_steps = 600'000;    // of all runs of parts of the tasks
  int64_t tensor_bytes = 64 << 20;  // of all that a call reads and writes; some 20 times as much is taken
};

struct BytesProof {
  int64_t batch = 1;    // that was executed
  int64_t outputs = 0;  // elements, indices included
  int64_t kinds = 0;    // of planes
  // Of the ranges of tasks that a caller may ask for, how many were executed.
  int64_t ranges = 0;
  double all_ranges = 0;
};

// most_batches: where so many are too large, one is executed.
// Errors: "prove.code", "prove.wrong": the code is wrong, and how; "prove.program", "prove.unsupported": what
// it does has no reading; "prove.size": it is too large, for the limits; "decoder.missing".
ir::Result<BytesProof> prove_bytes(const KernelCode& kernel, const ir::PoolNest& nest, int64_t most_batches,
                                   ir::Isa isa, const BytesLimits& limits = {});

}  // namespace pooljit::jit::x86
