// Minimum: starts from the highest value.
#include "ir/reductions/extreme.h"

namespace pooljit::ir {

Result<std::unique_ptr<Reducer>> make_min_reducer(const PoolNest& nest, Builder& builder) {
  return make_extreme_reducer(nest, builder, Extreme::smallest);
}

}  // namespace pooljit::ir
