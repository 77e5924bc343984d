// Pixel rows: rows of pixels whose channels lie next to each other. Where windows move from pixel to pixel,
// such a row is one of a single channel whose windows have as many columns from tap to tap as there are
// channels; where they move by several, one of DimKind::pixels.
#pragma once

#include "ir/nest.h"

namespace pooljit::ir {

// True for several channels, pixels without gaps, no indices, no operands with a number per channel; windows
// that move by several pixels: few channels and no more pixels than straight-line code takes.
bool has_pixel_rows(const PoolNest& nest);

// The same windows over one channel. Of a nest that has pixel rows.
PoolNest as_one_channel(PoolNest nest);

}  // namespace pooljit::ir
