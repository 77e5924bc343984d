// Random rounds of sums and norms that go through the steps of an epilogue: numbers are chosen so that no
// right result lies where the steps make many results one (docs/notes/proof.md).
#pragma once

#include "runtime/proof/rounds.h"

namespace pooljit::runtime {

// Of a sum, an average, or a norm of p = 1 or 2. A claim of `tested` where no numbers will do.
Rounds step_rounds(const ir::PoolNest& nest);
// Of a norm: the power of two whose 0, 1, 2 and 3 times, and infinity, the steps tell apart, or most of them.
double norm_unit(const ir::PoolNest& nest);
// How many of these five are different numbers behind the steps.
int64_t norms_told(const ir::PoolNest& nest, double unit);

}  // namespace pooljit::runtime
