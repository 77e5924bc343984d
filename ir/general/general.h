// Code for all extents. A nest of any size stands for a layer whose spatial extents are not known. Fields
// that are the same for all extents (windows, strides, dilation, channels, layout, dtypes, reduction,
// epilogue) are the layer's. Fields that follow from the extents (these, paddings, strides of views but the
// innermost, how indices count) are stand-ins, so that layers that can share code have equal nests.
// ir::enumerate_schedules and ir::lower take it like any other nest. Its Program reads the missing values
// from the words of the size (ir/general/size_words.h).
//
//   const auto any = general_nest(sized, Extents::any);   // sized: the layer at some size
//   const auto program = lower(*any, enumerate_schedules(*any, isa, 1).front(), isa);
//   const auto words = size_words(*any, sized);         // for each size that it is run at
#pragma once

#include <span>

#include "ir/error.h"
#include "ir/nest.h"

namespace pooljit::ir {

// sized: the layer at some size, which one does not matter. sizes: any_windows for global and adaptive
// layers, whose windows may look like ordinary ones at that size; else any. "general.unsupported": only code
// for one size does this.
Result<PoolNest> general_nest(const PoolNest& sized, Extents extents);
// The layer at a size as many networks have, for which a schedule is chosen; where windows follow the
// extents, one window.
PoolNest usual_nest(const PoolNest& general);
// Of several pools of one tensor: each member's, of its own sizes.
Result<PoolNest> general_pools(const PoolNest& sized, std::span<const Extents> of_members);

}  // namespace pooljit::ir
