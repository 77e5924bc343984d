// Spellings of a spec. To add one: a file in frontend/dialects/ that makes a PoolSpec, and a row here.
// A dialect translates; it checks nothing that check_spec checks, and gives no meaning that PoolSpec cannot
// hold.
#pragma once

#include <string_view>

#include "frontend/pool_spec.h"

namespace pooljit::frontend {

ir::Result<PoolSpec> parse_canonical(std::string_view text);

}  // namespace pooljit::frontend
