// Pixel rows: rows of pixels whose channels lie next to each other. Where windows move from pixel to pixel,
// such a row is one of a single channel whose windows have as many columns from tap to tap as there are
// channels.
#pragma once

#include "ir/nest.h"

namespace pooljit::ir {

// True for several channels, pixels without gaps, windows of stride 1 along the row, no indices, no operands
// with a number per channel.
bool has_pixel_rows(const PoolNest& nest);

// The same windows over one channel. Of a nest that has pixel rows.
PoolNest as_one_channel(PoolNest nest);

}  // namespace pooljit::ir
