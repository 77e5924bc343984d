// Why a layer gets its schedule where nothing was measured.
#pragma once

#include "frontend/pool_spec.h"
#include "ir/cost.h"
#include "ir/error.h"
#include "ir/machine.h"
#include "ir/nest.h"
#include "pooljit.hpp"

namespace pooljit::runtime {

// Errors: "reduction.*", of layers that no schedule can do; "schedule.unpool".
ir::Result<Explanation> explain(const frontend::PoolSpec& spec, ir::Isa isa, const ir::Machine& machine);
// For this machine, as the public interfaces do it. Errors: those of resolve() too.
ir::Result<Explanation> explain(const frontend::PoolSpec& spec, const Options& options);

// A predicted cost in cycles per output by part: the units, which work at the same time, so the busiest
// counts, the waiting between them, and memory.
std::vector<std::pair<std::string, double>> price_by_part(const ir::Cost& cost);

// "schedule.unpool": an unpool has none.
ir::Result<void> has_schedules(const frontend::PoolSpec& spec);

}  // namespace pooljit::runtime
