// Divisors: the factors that the windows of a dimension contribute to the divisor of an average.
#pragma once

#include <cstdint>

#include "ir/nest.h"
#include "ir/schedules/windows/position.h"

namespace pooljit::ir {

// The factor that one dimension's window contributes to the divisor of an average; 1 if the window has no tap
// (its sum is 0).
int64_t divisor_taps(const PoolNest& nest, const Window& window);
// The outputs that have the usual divisor of an ordinary pooling's dimension: those of the longest run of
// alike windows, and their neighbours with the same divisor.
Interior usual_outputs(const PoolNest& nest, const NestDim& dim);

// The factor of the window at any output of a dimension.
class Divisors {
 public:
  // dim: an ordinary pooling's. asked: the outputs that a position with steps may be. origin: positions count
  // from this output, an index value.
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
