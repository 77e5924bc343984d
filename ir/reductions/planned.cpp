// Reductions that no schedule can lower yet; the frontend refuses their specs.
#include "ir/reductions/reducer.h"

namespace pooljit::ir {

Result<std::unique_ptr<Reducer>> make_min_reducer(const PoolNest&, Builder&) {
  return unsupported("schedule.reduction", "minimum is not lowered yet");
}
Result<std::unique_ptr<Reducer>> make_sum_reducer(const PoolNest&, Builder&) {
  return unsupported("schedule.reduction", "sum is not lowered yet");
}
Result<std::unique_ptr<Reducer>> make_lp_reducer(const PoolNest&, Builder&) {
  return unsupported("schedule.reduction", "Lp is not lowered yet");
}

}  // namespace pooljit::ir
