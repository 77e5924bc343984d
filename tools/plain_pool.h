// The plain loop's description of a spec. The plain loop works on packed tensors in the spec's layouts;
// explicit strides are left out, which only makes it faster. Of a backward pooling it is the forward's.
#pragma once

#include "frontend/pool_spec.h"
#include "tools/plain_loop.h"

namespace pooljit::tools {

PlainDim plain_dim(const ir::NestDim& dim);
PlainPool plain_pool(const frontend::PoolSpec& spec);

}  // namespace pooljit::tools
