// The plain loop's description of a spec. The plain loop works on packed tensors in the spec's layouts;
// explicit strides are left out, which only makes it faster. Of a backward pooling it is the forward's.
#pragma once

#include "frontend/pool_spec.h"
#include "tools/plain_epilogue.h"
#include "tools/plain_loop.h"
#include "tools/plain_unpool.h"

namespace pooljit::tools {

PlainDim plain_dim(const ir::NestDim& dim);
PlainPool plain_pool(const frontend::PoolSpec& spec);
PlainUnpool plain_unpool(const frontend::PoolSpec& spec);

// Whether an epilogue can be done in place behind the plain loop: nothing in it converts.
bool has_plain_epilogue(const frontend::PoolSpec& spec);
// Without its operands.
PlainEpilogue plain_epilogue(const frontend::PoolSpec& spec);

}  // namespace pooljit::tools
