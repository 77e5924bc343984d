// A kernel's machine code executed once in the symbolic domain, over all tasks of a nest: what it leaves in
// each place of the outputs, for every input at once.
#pragma once

#include <span>

#include "ir/error.h"
#include "ir/nest.h"
#include "ir/program.h"
#include "ir/prove.h"
#include "jit/backend.h"

namespace pooljit::jit::x86 {

struct Kernel {
  const CodeBlob* blob;
  std::span<const ir::Param> params;
  std::span<const ir::TaskDim> tasks;
  const std::vector<std::vector<int64_t>>* tables;
  int64_t scratch_bytes = 0;
  int64_t output_alignment = 1;  // in bytes, that callers promise
  // Of several pools: which of them the nest is, and all of them, whose stores go to memory of their own.
  int member = 0;
  std::span<const ir::PoolNest> members = {};
};

struct RunLimits {
  int64_t steps = 100'000'000;  // instructions
};

// Errors: "prove.code": an access that no element owns, an instruction without a row, data where a number has
// to be, with its place and text; "prove.unsupported": what no term says; "decoder.missing".
ir::Result<ir::StoredTerms> run_symbolically(const Kernel& kernel, const ir::PoolNest& nest, int64_t batch,
                                             ir::TermGraph& graph, const RunLimits& limits = {});

}  // namespace pooljit::jit::x86
