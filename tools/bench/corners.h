// Layers on which a default kernel is slow, beside a copy of the same bytes and beside the plain loop.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "runtime/kernel_options.h"

namespace pooljit::tools {

// One layer's times, in seconds of a call on one thread; all took turns.
struct Corner {
  std::string spec = {}, schedule = {}, cause = {};
  int64_t bytes = 0;  // that are read and written
  double call = 0, copy = 0;
  std::optional<double> plain = {};  // absent: the plain loop does not do the layer

  double share() const { return copy / call; }  // of the copy's speed
  double speedup() const { return plain ? *plain / call : 0; }
};

// Errors: those of compiling, "corners.memory" where a view takes too much of it.
ir::Result<Corner> measure_corner(const frontend::PoolSpec& spec, const runtime::Options& options);

// A smaller layer that is as slow, by the number that `slowness` says: what is smallest of those that were
// tried until `is_over`.
Corner shrink_corner(const Corner& corner, double (Corner::*slowness)() const,
                     const runtime::Options& options, const std::function<bool()>& is_over);

struct CornerCause {
  std::string cause = {};
  size_t layers = 0;
  double median_share = 0;
  Corner slowest = {};  // by share
};
// The slowest median first.
std::vector<CornerCause> group_corners(const std::vector<Corner>& corners);

}  // namespace pooljit::tools
