// Loop fusion: several Programs that read the same as one.
#pragma once

#include <span>
#include <vector>

#include "ir/builder.h"

namespace pooljit::ir {

// Of which Program, and its parameters in the new one, by Value; the others are not yet named.
struct FusedPart {
  const Program* program = nullptr;
  std::vector<Value> renamed;
};

// Emits the instructions of all parts, except ret. Loops that are next in several parts and have equal counts
// become one. In it, a load or conversion that another part has already done is not repeated. The parts are
// taken in turn from load to load, so that a vector is used soon after it was loaded. None of them reads what
// another one writes.
void fuse(Builder& b, std::span<FusedPart> parts);

}  // namespace pooljit::ir
