#include "ir/reductions/reducer.h"

#include "ir/reductions/halved_sums.h"

namespace pooljit::ir {

Result<std::unique_ptr<Reducer>> make_reducer(const PoolNest& nest, Builder& builder, LaneUse lanes) {
  if (nest.direction == Direction::unpool)
    return unsupported("schedule.unpool", "an unpool is a routine of the runtime: it has no Program",
                       "compile and run it");
  if (nest.is_backward()) return make_gradient_reducer(nest, builder);
  using Make = Result<std::unique_ptr<Reducer>> (*)(const PoolNest&, Builder&);
  static constexpr Make makers[] = {
#define REDUCTION(name, text, note) make_##name##_reducer,
#include "ir/reductions.def"
#undef REDUCTION
  };
  auto reducer = makers[static_cast<int>(nest.reduction)](nest, builder);
  if (!reducer || lanes == LaneUse::moved || !can_halve_sums(nest)) return reducer;
  return lanes == LaneUse::joined ? make_paired_sums(nest, builder, std::move(*reducer))
                                  : make_halved_sums(nest, builder, std::move(*reducer));
}

}  // namespace pooljit::ir
