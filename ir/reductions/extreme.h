// Maximum and minimum, with or without the index of the winning tap.
//
// The order of the operands carries the semantics: max(x, best) keeps best unless x > best, so ties keep the
// first tap and a NaN x never wins. A minimum is the same with <.
#pragma once

#include "ir/reductions/reducer.h"

namespace pooljit::ir {

enum class Extreme : uint8_t { largest, smallest };

// The bits of the value that every other beats or equals: the lowest for a maximum.
int64_t identity_bits(DType dtype, Extreme extreme);

Result<ReductionFacts> extreme_facts(const PoolNest& nest, Isa isa, Extreme extreme);
std::unique_ptr<Reducer> make_extreme_reducer(const PoolNest& nest, Builder& builder,
                                              const ReductionFacts& facts, Extreme extreme);

}  // namespace pooljit::ir
