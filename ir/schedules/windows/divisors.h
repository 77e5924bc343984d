// Divisors: what the windows of a dimension add to the divisor of an average.
#pragma once

#include <cstdint>

#include "ir/nest.h"
#include "ir/schedules/windows/position.h"

namespace pooljit::ir {

// What one dimension's window adds to the divisor of an average, as a factor; 1 where the window has no tap
// (its sum is 0).
int64_t divisor_taps(const PoolNest& nest, const Window& window);
// The outputs with the divisor that most windows of an ordinary pooling's dimension have: those with the
// longest run of alike windows, and those next to it.
Interior usual_outputs(const PoolNest& nest, const NestDim& dim);

// What the windows of a dimension add to the divisor, as a factor.
class Divisors {
 public:
  // dim: an ordinary pooling's. asked: the outputs that places with steps may be. origin: places count from
  // this output, an index value.
  Divisors(const PoolNest& nest, const NestDim& dim, Interior asked, Builder& builder,
           Value origin = no_value);
  Value operator()(const Position& output) const;

 private:
  const PoolNest& nest_;
  const NestDim& dim_;
  Builder& b_;
  int64_t common_ = 1;
  Value origin_;
  int table_ = -1;  // where they differ
};

}  // namespace pooljit::ir
