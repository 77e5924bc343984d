#include "ir/reductions/reducer.h"

namespace pooljit::ir {

Result<std::unique_ptr<Reducer>> make_reducer(const PoolNest& nest, Builder& builder) {
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
  return makers[static_cast<int>(nest.reduction)](nest, builder);
}

}  // namespace pooljit::ir
