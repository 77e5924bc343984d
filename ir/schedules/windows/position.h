// Position: where a kernel stands along a dimension, counted by open loops.
#pragma once

#include <cstdint>

#include "ir/builder.h"
#include "ir/nest.h"

namespace pooljit::ir {

struct Position {
  struct Step {
    Value iv = no_value;
    int64_t positions = 0;
  };
  int64_t first = 0;
  InlineList<Step, 2> steps = {};  // of loops, outermost first

  Position further(int64_t positions) const;
  Position further(Value iv, int64_t positions) const;
};

Address plus(Address address, int64_t bytes);
Address plus(Address address, Value iv, int64_t bytes);
// As an index value.
Value as_index(Builder& builder, const Position& position);
// The address of a position: `bytes` further on for each position.
Address at(Address address, const Position& position, int64_t bytes);

}  // namespace pooljit::ir
