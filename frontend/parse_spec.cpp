#include "frontend/check.h"
#include "frontend/dialects.h"
#include "frontend/pool_spec.h"

namespace pooljit::frontend {

ir::Result<PoolSpec> parse_spec(std::string_view text, FreeDims free_dims) {
  ir::Result<PoolSpec> spec = parse_any(text);
  if (!spec) return spec;
  return check_spec(std::move(*spec), free_dims);
}

}  // namespace pooljit::frontend
