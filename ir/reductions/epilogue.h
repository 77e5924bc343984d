// The steps of an epilogue as instructions, between a result and the output. Each operation rounds by itself.
#pragma once

#include <functional>

#include "ir/builder.h"
#include "ir/nest.h"

namespace pooljit::ir {

// An operand's elements at the lanes of the result, in its own dtype; by its number in operand_views().
using LoadOperand = std::function<Value(size_t number)>;

// From a result in nest.result_dtype() to an element of the output.
Value through_epilogue(Builder& builder, const PoolNest& nest, Value result, const LoadOperand& load);

// Bytes of the widest lane that through_epilogue() makes or loads; 0 without an epilogue.
int epilogue_bytes(const PoolNest& nest);

// Vector registers that the steps need beside their value, on the ISA that has fewest.
int epilogue_registers(const PoolNest& nest);

}  // namespace pooljit::ir
