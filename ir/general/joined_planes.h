// Joined planes: a global layer over planes without gaps, seen as few long rows, so that code for all extents
// has few loops that begin and end.
#pragma once

#include <optional>

#include "ir/nest.h"

namespace pooljit::ir {

// Taps of a row whose sum is one part: rounding errors grow with the part.
inline constexpr int64_t most_taps_of_sum = 512;

inline bool sums_floats(const PoolNest& nest) { return !nest.is_extreme() && is_float(nest.input.dtype); }

// What the words of a size describe in place of a global layer in planes without gaps: each plane is one row
// of the window, or, of long sums of floats, a few equal ones. None: they describe `sized`, as for indices of
// columns that are not adjacent.
std::optional<PoolNest> with_joined_planes(const PoolNest& general, const PoolNest& sized);

}  // namespace pooljit::ir
