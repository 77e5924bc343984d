// Maximum and minimum of float16 and bfloat16 in lanes of 16 bits, without indices and with `zeros=any`: by
// keys, which are integers in the order of the floats. ir/reductions/extreme.h makes it where it serves.
#pragma once

#include "ir/reductions/extreme.h"

namespace pooljit::ir {

std::unique_ptr<Reducer> make_half_extreme_reducer(const PoolNest& nest, Builder& builder,
                                                   const ReductionFacts& facts, Extreme extreme);

}  // namespace pooljit::ir
