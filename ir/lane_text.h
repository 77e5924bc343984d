// A lane's value as text: 3, -2.5, -inf, nan(0x7fc00000). Exact in both directions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/dtype.h"

namespace pooljit::ir {

std::string print_lane(DType dtype, int64_t bits);

// An integer that does not fit its dtype is returned as it is; the verifier refuses it.
std::optional<int64_t> parse_lane(DType dtype, std::string_view text);

}  // namespace pooljit::ir
