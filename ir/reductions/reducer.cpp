#include "ir/reductions/reducer.h"

#include "ir/reductions/halved_sums.h"

namespace pooljit::ir {

Result<std::unique_ptr<Reducer>> make_reducer(const PoolNest& nest, Builder& builder, LaneUse lanes) {
  const auto facts = reduction_facts(nest, builder.isa(), lanes);
  if (!facts) return tl::unexpected(facts.error());
  if (nest.is_norm_gradient()) return make_norm_gradient_reducer(nest, builder, *facts);
  if (nest.is_backward()) return make_gradient_reducer(nest, builder, *facts);
  using Make = std::unique_ptr<Reducer> (*)(const PoolNest&, Builder&, const ReductionFacts&);
  static constexpr Make makers[] = {
#define REDUCTION(name, ...) make_##name##_reducer,
#include "ir/reductions.def"
#undef REDUCTION
  };
  const Make make = makers[static_cast<int>(nest.reduction)];
  auto ordinary = make(nest, builder, *facts);
  if (!can_halve_sums(nest)) return ordinary;
  switch (lanes) {
    case LaneUse::moved:
      return can_widen_sums(nest, builder.isa())
                 ? make_widened_sums(nest, builder, *facts, std::move(ordinary))
                 : std::move(ordinary);
    case LaneUse::fixed:
      return make_halved_sums(nest, builder, *facts, std::move(ordinary));
    case LaneUse::joined:
    default:
      return make_paired_sums(nest, builder, *facts, std::move(ordinary));
  }
}

}  // namespace pooljit::ir
