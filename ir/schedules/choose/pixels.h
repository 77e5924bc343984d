// Cache blocking for channels-last images. An image larger than a core's own caches is read several times if
// each pixel is read in slices.
#pragma once

#include "ir/schedules/layer.h"

namespace pooljit::ir {

// Images of fewer bytes do not wait for memory: the first cache holds them, or nearly.
inline constexpr int64_t first_cache_image = int64_t{1} << 16;

// The first cache does not hold the image, and the second does.
bool is_in_second_cache(const Layer& layer);

// Maxima, sums and averages without anything else: any other work on an element costs more than loading it.
bool waits_for_loads(const PoolNest& nest);

// Windows have pixels in common.
bool overlaps(const PoolNest& nest);

// One window, for maxima, sums or averages without anything else, in an image that fits the second cache but
// not the first. There are registers for at least eight vectors.
bool is_one_near_window(const Layer& layer);

// Loading every tap of every window, one window after the other, is best: there is so little arithmetic that
// memory decides.
bool prefers_whole_pixels(const Layer& layer);
// Rows are better read whole; the second: by so much that rolling schedules should use strips.
bool prefers_whole_rows(const Layer& layer);
bool prefers_strips(const Layer& layer);

// Pixels have few channels, of elements that cannot be masked: only rows of pixels fill vectors.
bool has_few_channels(const Layer& layer);

// Maxima of bytes on few registers: one vector of channels is best rolled along the row. The registers hold
// what its windows share, and the image is near.
bool rolls_over_bytes(const Layer& layer);

// Maxima of bytes whose windows move by one along the row: vectors of channels roll, and move no lanes. Where
// rows share nothing, moving lanes costs as much as it joins: 0.41 to 0.88 of interleaved's time from 65
// channels on (AVX2, and windows of up to three columns: from 16 on). Of images beyond the first cache also
// windows of up to three rows and columns, 0.4 to 0.95, but 1.15 to 1.5 of three where 24 or 40 channels
// leave half of a vector empty; of smaller images up to 1.8. Measured at 16 to 200 channels and 20 to 160
// rows and columns on a Granite Rapids.
bool rolls_bytes_by_channels(const Layer& layer);

}  // namespace pooljit::ir
