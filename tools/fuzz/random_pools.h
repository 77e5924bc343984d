// Random specs of several pools of one tensor.
#pragma once

#include <optional>

#include "frontend/pool_spec.h"
#include "tools/fuzz/draw.h"

namespace pooljit::fuzz {

// `first` and one to three more pools of its input: others of its dtype and windows, or, often, maxima or
// minima one larger than the other, of which one can be made of another. None where no such spec is valid.
std::optional<frontend::PoolSpec> random_pools(const frontend::PoolSpec& first, Draw& draw);

}  // namespace pooljit::fuzz
