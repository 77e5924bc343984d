// Maximum: starts from the lowest value.
#include "ir/reductions/extreme.h"

namespace pooljit::ir {

Result<ReductionFacts> max_facts(const PoolNest& nest, Isa isa) {
  return extreme_facts(nest, isa, Extreme::largest);
}

std::unique_ptr<Reducer> make_max_reducer(const PoolNest& nest, Builder& builder,
                                          const ReductionFacts& facts) {
  return make_extreme_reducer(nest, builder, facts, Extreme::largest);
}

}  // namespace pooljit::ir
