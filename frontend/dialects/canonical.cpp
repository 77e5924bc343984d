// The canonical spelling, in torch's words and torch's order of positional values:
//   max_pool2d(float32[8,64,112,112]:nhwc, kernel_size=[3,2], stride=[2,1], padding=[1,0], ceil_mode=True)
// or several of one tensor: frontend/dialects/pools.cpp. Operators are the rows of frontend/operators.cpp,
// keywords those of frontend/keywords.def.
#include <algorithm>

#include "frontend/dialects.h"
#include "frontend/dialects/torch_words.h"

namespace pooljit::frontend {

ir::Result<PoolSpec> parse_canonical(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  if (constexpr std::string_view pools = "pools"; text.substr(begin).starts_with(pools))
    return read_pools(text);
  ParsedCall call;
  if (auto error = parse_call(text, call)) return tl::unexpected<ir::Error>(std::move(*error));
  return read_call(call, {.operators = operators()});
}

}  // namespace pooljit::frontend
