#include "ir/reductions/reducer.h"

namespace pooljit::ir {

Result<std::unique_ptr<Reducer>> make_reducer(const PoolNest& nest, Builder& builder) {
  using Make = Result<std::unique_ptr<Reducer>> (*)(const PoolNest&, Builder&);
  static constexpr Make makers[] = {
#define REDUCTION(name, text, note) make_##name##_reducer,
#include "ir/reductions.def"
#undef REDUCTION
  };
  return makers[static_cast<int>(nest.reduction)](nest, builder);
}

}  // namespace pooljit::ir
