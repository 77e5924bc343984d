// Pixel rows: rows of pixels whose channels are adjacent, seen as rows of one channel. Where windows move
// from pixel to pixel, the next tap is as many columns further on as there are channels. Where they move by
// several pixels, the row is of kind DimKind::pixels.
#pragma once

#include "ir/nest.h"
#include "ir/schedule.h"

namespace pooljit::ir {

// True for several channels, pixels without gaps, no indices and no operands with a number per channel.
// Windows that move by several pixels also need few channels, and no more pixels than straight-line code
// takes.
bool has_pixel_rows(const PoolNest& nest);

// True if code for all sizes may take the rows so: also of channels that are less than a vector of any ISA.
// Others fill vectors of channels, or nearly.
bool has_pixel_rows_of_any_size(const PoolNest& nest);

// The same windows over one channel. The nest must have pixel rows.
PoolNest as_one_channel(PoolNest nest);

// True if the schedule's vectors go along rows of pixels.
bool has_rows_of_pixels(const Schedule& schedule);

// The nest that the schedule's code is made of: of rows of pixels as_one_channel(), else the layer's own.
PoolNest in_code(const PoolNest& nest, const Schedule& schedule);

}  // namespace pooljit::ir
