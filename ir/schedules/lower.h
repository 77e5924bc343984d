// Lowering: a nest and a schedule become a Program.
#pragma once

#include "ir/error.h"
#include "ir/isa.h"
#include "ir/nest.h"
#include "ir/program.h"
#include "ir/schedule.h"

namespace pooljit::ir {

// The nest as a Program of stage affine. A schedule that does not suit the nest or the ISA is refused with a
// sentence (id "schedule.<rule>").
Result<Program> lower(const PoolNest& nest, const Schedule& schedule, Isa isa);
// The same and the passes to that stage (ir/passes/pipeline.h); values are named once, by the last of them.
Result<Program> lower_to(Stage stage, const PoolNest& nest, const Schedule& schedule, Isa isa);

}  // namespace pooljit::ir
