// Instructions that treat the lanes of a vector differently. A divisor that LLVM converts from a count shares
// its register with whatever lay there before, also when it waits on the stack.
#pragma once

#include <optional>

#include "proof/bytes/abstract_operands.h"

namespace pooljit::jit {

struct LaneResult {
  DataLanes lanes = 0;   // of the register that is written, those that depend on data
  bool touches = false;  // it does more with data than to leave it in its lane
};

// nullopt: the instruction is none of those that are known lane by lane.
std::optional<LaneResult> result_lanes(const Instruction& i, const AbstractOperands& operands,
                                       const AbstractState& state);

// The lanes that a move of a vector, or of its lowest lanes, stores. nullopt: it is no such move.
std::optional<DataLanes> stored_lanes(const Instruction& i, const AbstractOperands& operands,
                                      const AbstractState& state);

}  // namespace pooljit::jit
