// Several pools of one tensor by one kernel of pooljit, and by peers, which do a layer for each and then what
// concatenates their results.
#pragma once

#include <span>

#include "tools/bench/comparison.h"

namespace pooljit::tools {

// Like compare_layer(). The concatenation, and the copy of the input, is ours: moving bytes, in as many
// threads.
ir::Result<LayerResult> compare_pools(const std::string& name, const frontend::PoolSpec& spec,
                                      std::span<const Peer> peers, const ComparisonOptions& options);

}  // namespace pooljit::tools
