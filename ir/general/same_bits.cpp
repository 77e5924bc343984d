#include "ir/general/same_bits.h"

#include <algorithm>

#include "ir/pools.h"
#include "ir/reductions/facts.h"
#include "ir/reductions/float_keys.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lanes/memory_order.h"

namespace pooljit::ir {
namespace {

// No sum is rounded, and no zero or NaN is one of several.
bool has_one_result(const PoolNest& sized) {
  if (!is_float(sized.input.dtype)) return !sized.is_norm();
  return sized.is_extreme() && sized.indices;  // the value is the element that the index names
}

// Code for one size has straight-line code for its usual windows, which begins with their first taps. Those
// of code for all sizes are the whole windows; its sums of others begin with +0, and where all taps are -0
// that shows.
bool has_whole_windows(const PoolNest& sized) {
  return std::ranges::all_of(sized.dims, [](const NestDim& dim) {
    const Interior whole = interior(dim);
    return whole.begin < whole.end;
  });
}

// Maxima that look for NaN in the end give another NaN than those that look at each tap. How many taps it
// takes depends on the window; for rows_first also on the vectors of a tile, which differ.
bool looks_for_nans_alike(const PoolNest& general, const PoolNest& sized, const Schedule& schedule,
                          const ReductionFacts& facts) {
  constexpr size_t one_state = 1;
  const auto defers = [&](int64_t taps) { return facts.keeps_masks(one_state, taps); };
  if (defers(general.full_taps()) != defers(sized.full_taps())) return false;
  const RowFields* const rows = row_fields(schedule);
  return !rows || rows->scan != RowFields::Scan::rows_first ||
         !defers(sized.full_taps() / sized.dims.back().most_taps());
}

// Rows of long windows are joined as keys where a tile's vectors allow it.
bool has_no_keys(const PoolNest& sized) { return sized.dims.back().kernel < least_keyed_kernel; }

SameBits same_bits_of_pool(const PoolNest& general, const PoolNest& sized, const Schedule& schedule,
                           Isa isa) {
  // Of which windows there is straight-line code depends on the size.
  if (sized.is_backward()) return SameBits::never;
  if (has_one_result(sized)) return SameBits::by_any_schedule;
  // Its sums are of other parts.
  if (in_memory_order(sized, isa)) return SameBits::never;
  const bool follow = general.extents == Extents::any_windows;
  // What is joined with what depends on where pieces begin.
  if (schedule.family() == Family::separable) return SameBits::never;
  const bool is_pixelwise = schedule.family() == Family::channels_last;
  // Lanes are joined in an order of their own.
  if (follow && !is_pixelwise) return SameBits::never;
  // Tiles at the ends of rows begin their sums with +0, or with a tap.
  if (!sized.is_extreme() && (follow || !is_pixelwise)) return SameBits::never;
  if (!follow && !has_whole_windows(sized)) return SameBits::never;
  if (!sized.is_extreme()) return SameBits::by_the_same_schedule;
  const auto facts = reduction_facts(sized, isa, info(schedule.family()).lanes);
  const bool are_same =
      facts && looks_for_nans_alike(general, sized, schedule, *facts) && (is_pixelwise || has_no_keys(sized));
  return are_same ? SameBits::by_the_same_schedule : SameBits::never;
}

}  // namespace

SameBits same_bits(const PoolNest& general, const PoolNest& sized, const Schedule& schedule, Isa isa) {
  SameBits least = SameBits::by_any_schedule;
  for (size_t i = 0; i < pools_of(sized).size(); ++i)
    least = std::min(least,
                     same_bits_of_pool(pools_of(general)[i], pools_of(sized)[i], pools_of(schedule)[i], isa));
  return least;
}

}  // namespace pooljit::ir
