// Pooling nodes of a model that pool one tensor, as one spec of several pools.
#pragma once

#include <string>
#include <vector>

#include "tools/onnx/model.h"

namespace pooljit::tools {

struct PoolGroup {
  std::vector<std::string> nodes;  // names, in the order of the spec's members; of the Concat too
  std::string spec;                // pools(...), canonical
};

// Two nodes or more that pool one tensor, or, as maxima in a chain, what others make of it. Where a Concat
// along the channels takes all of them, and it may be the tensor before them, they have its order, and the
// spec has its output. A node without a spec is in no group.
std::vector<PoolGroup> find_groups(const OnnxModel& model);

}  // namespace pooljit::tools
