#include "ir/reductions/facts.h"

#include "ir/reductions/halved_sums.h"
#include "ir/reductions/stored.h"

namespace pooljit::ir {

bool ReductionFacts::keeps_masks(size_t states, int64_t taps) const {
  // Deferred looks for NaN take a mask, and sometimes a tap, for each state; with fewer taps they save
  // nothing.
  constexpr size_t most_deferred = 2;
  constexpr int64_t least_deferred_taps = 4;
  return may_defer_nans && states <= most_deferred && taps >= least_deferred_taps;
}

Result<ReductionFacts> reduction_facts(const PoolNest& nest, Isa isa, LaneUse lanes) {
  if (nest.direction == Direction::unpool)
    return unsupported("schedule.unpool", "an unpool is a routine of the runtime: it has no Program",
                       "compile and run it");
  if (nest.is_norm_gradient()) return norm_gradient_facts(nest);
  if (nest.is_backward()) return gradient_facts(nest);
  using Facts = Result<ReductionFacts> (*)(const PoolNest&, Isa);
  static constexpr Facts rows[] = {
#define REDUCTION(name, ...) name##_facts,
#include "ir/reductions.def"
#undef REDUCTION
  };
  auto facts = rows[static_cast<int>(nest.reduction)](nest, isa);
  // Rows of taps are taken in lanes of bytes (ir/schedules/families/window_rows_narrow.h).
  const bool are_bytes = nest.indices && bytes(nest.input.dtype) == 1 && !nest.has_any_size();
  if (facts && lanes == LaneUse::joined && are_bytes)
    facts->working_bytes = bytes_to_store(nest.result_dtype(), nest.input.dtype);
  if (!facts || !can_halve_sums(nest)) return facts;
  switch (lanes) {
    case LaneUse::moved:
      return can_widen_sums(nest, isa) ? widened_sums_facts(nest, *facts) : facts;
    case LaneUse::fixed:
      return halved_sums_facts(nest, *facts);
    case LaneUse::joined:
    default:
      return paired_sums_facts(nest, *facts);
  }
}

}  // namespace pooljit::ir
