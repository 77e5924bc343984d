// Layers that differ from another in one field. An engine that keeps what it made for a layer, under a key
// that lacks the field, then does one of them as the other.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "frontend/pool_spec.h"
#include "tools/fuzz/draw.h"

namespace pooljit::fuzz {

// "dilation", "stride" ...
std::span<const std::string_view> neighbour_fields();
std::string random_field(Draw& draw);

// The spec with that field another, where such a spec is valid.
std::optional<frontend::PoolSpec> neighbour(const frontend::PoolSpec& spec, std::string_view field);

}  // namespace pooljit::fuzz
