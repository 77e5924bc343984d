// Specs whose tensors are too large to be probed: the cost of probing them, and a smaller spec with the same
// regions.
#pragma once

#include <optional>

#include "frontend/pool_spec.h"

namespace pooljit::runtime {

// Elements that all probes together visit, about; some nanoseconds each.
double probing_work(const ir::PoolNest& nest, int64_t batch);

// As `wider` below: the innermost extent stays as it is.
constexpr int64_t whole_rows = 0;

// The same pooling of a smaller tensor, if it is possible to make one that costs at most `most_work`: each
// extent keeps its remainder by what loops step by and room for every border, the inside twice and the tail;
// the innermost so many times that, for code that walks it in pieces.
std::optional<frontend::PoolSpec> shrunk(const frontend::PoolSpec& spec, double most_work, int64_t wider = 1);

// The same pools of a tensor of fewer channels, of which `pieces` tasks have equal parts (1: channels are not
// cut); and how many tasks have as many each of the smaller one.
struct FewerChannels {
  frontend::PoolSpec spec;
  int64_t pieces = 1;
};
std::optional<FewerChannels> fewer_channels(const frontend::PoolSpec& spec, int64_t pieces);

}  // namespace pooljit::runtime
