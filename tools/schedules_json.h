// `pooljit schedules --json`: what was decided, and prices, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "ir/cost.h"
#include "lab/schedules/explain.h"

namespace pooljit::tools {

nlohmann::ordered_json why_json(const runtime::Explanation& why);
// A predicted cost: "seconds" per call, and "cycles_per_output" by part.
nlohmann::ordered_json price_json(const ir::Cost& cost);

}  // namespace pooljit::tools
