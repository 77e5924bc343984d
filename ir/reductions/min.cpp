// Minimum: starts from the highest value.
#include "ir/reductions/extreme.h"

namespace pooljit::ir {

Result<ReductionFacts> min_facts(const PoolNest& nest, Isa isa) {
  return extreme_facts(nest, isa, Extreme::smallest);
}

std::unique_ptr<Reducer> make_min_reducer(const PoolNest& nest, Builder& builder,
                                          const ReductionFacts& facts) {
  return make_extreme_reducer(nest, builder, facts, Extreme::smallest);
}

}  // namespace pooljit::ir
