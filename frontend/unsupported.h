// Specs that are right but that no layer below does yet.
#pragma once

#include <optional>

#include "frontend/pool_spec.h"

namespace pooljit::frontend {

// The first row of the table that applies to a checked, normalised spec, as an error "spec.unsupported_...".
std::optional<ir::Error> check_supported(const PoolSpec& spec);

}  // namespace pooljit::frontend
