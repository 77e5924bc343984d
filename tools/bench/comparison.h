// One layer by pooljit and by its peers, in turns, on the same data, after comparing the results.
#pragma once

#include <span>

#include "frontend/pool_spec.h"
#include "runtime/kernel_options.h"
#include "tools/bench/results.h"

namespace pooljit::tools {

struct ComparisonOptions {
  runtime::Options engine;     // pooljit's
  double seconds = 0.1;        // of measuring, per layer and engine
  double longest_seconds = 1;  // a peer whose first call takes longer is left out of the layer
  bool with_plain_loop = false;
  bool any_size = false;  // measures the code for all sizes
};

// Errors: the spec's, pooljit's, "bench.*".
ir::Result<LayerResult> compare_layer(const std::string& name, const frontend::PoolSpec& spec,
                                      std::span<const Peer> peers, const ComparisonOptions& options);

// From text to callable, past the cache. The first one warms up and is left out.
ir::Result<Timing> time_compile(const std::string& spec, const runtime::Options& options,
                                double budget_seconds);

}  // namespace pooljit::tools
