// Maximum: starts from the lowest value.
#include "ir/reductions/extreme.h"

namespace pooljit::ir {

Result<std::unique_ptr<Reducer>> make_max_reducer(const PoolNest& nest, Builder& builder) {
  return make_extreme_reducer(nest, builder, Extreme::largest);
}

}  // namespace pooljit::ir
