// Why a layer gets its schedule: `pooljit schedules SPEC --why`.
#pragma once

#include <nlohmann/json.hpp>

#include "ir/isa.h"
#include "ir/machine.h"
#include "ir/nest.h"

namespace pooljit::tools {

// What each family was asked and what came of it, the predicted price of its first schedule by part, and what
// decided. Nothing is measured.
nlohmann::ordered_json why_json(const ir::PoolNest& nest, ir::Isa isa, int64_t batch,
                                const ir::Machine& machine);
// The same as text.
std::string print_why(const nlohmann::ordered_json& why);

}  // namespace pooljit::tools
