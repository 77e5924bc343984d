// Layers that differ in one number: what shows how the cost grows with it.
#pragma once

#include <vector>

#include "frontend/pool_spec.h"
#include "ir/error.h"

namespace pooljit::tools {

struct FamilySpec {
  int64_t value;
  frontend::PoolSpec spec;
  int threads;
};
struct FamilyPlan {
  std::string name, axis;  // "kernel", "kernel size"
  std::vector<FamilySpec> members;
};

// Of a layer with windows of a fixed size:
//   kernel    windows of 3, 5, 7, ... in every dimension, stride 1, the padding that keeps the size
//   batch     1, 2, 4, ... images
//   threads   1, 2, 4, ... threads, on a batch that is worth them
// Errors: "bench.family": the layer is adaptive or has no batch, or no windows.
ir::Result<std::vector<FamilyPlan>> plan_families(const frontend::PoolSpec& base, int threads,
                                                  int most_threads);

}  // namespace pooljit::tools
