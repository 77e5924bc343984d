// Why a layer gets its schedule: `pooljit schedules SPEC --why`.
#pragma once

#include <nlohmann/json.hpp>

#include "ir/cost.h"
#include "ir/isa.h"
#include "ir/machine.h"
#include "ir/nest.h"

namespace pooljit::tools {

// What each family was asked and what came of it, the predicted price of its first schedule by part, and what
// decided. Nothing is measured.
nlohmann::ordered_json why_json(const ir::PoolNest& nest, ir::Isa isa, int64_t batch,
                                const ir::Machine& machine);
// A predicted cost: "seconds" per call, and "cycles_per_output" by part: the units, which work at the same
// time, so the busiest counts, the waiting between them, and memory.
nlohmann::ordered_json price_json(const ir::Cost& cost);
// why_json() as text.
std::string print_why(const nlohmann::ordered_json& why);

}  // namespace pooljit::tools
