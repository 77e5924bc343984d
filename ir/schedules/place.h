// Place: a position along a dimension that open loops count up, and the divisor of an average there.
#pragma once

#include <cstdint>

#include "ir/builder.h"
#include "ir/nest.h"

namespace pooljit::ir {

struct Place {
  struct Step {
    Value iv = no_value;
    int64_t positions = 0;
  };
  int64_t first = 0;
  InlineList<Step, 2> steps = {};  // of loops, outermost first

  Place further(int64_t positions) const;
  Place further(Value iv, int64_t positions) const;
};

// The address so many bytes per position further on.
Address at(Address address, const Place& place, int64_t bytes);

// What the windows of a dimension add to the divisor, as a factor.
class Divisors {
 public:
  // dim: an ordinary pooling's. asked: the outputs that places with steps may be. origin: places count from
  // this output, an index value.
  Divisors(const PoolNest& nest, const NestDim& dim, Interior asked, Builder& builder,
           Value origin = no_value);
  Value operator()(const Place& output) const;

 private:
  const PoolNest& nest_;
  const NestDim& dim_;
  Builder& b_;
  int64_t common_ = 1;
  Value origin_;
  int table_ = -1;  // where they differ
};

}  // namespace pooljit::ir
