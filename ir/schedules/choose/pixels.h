// Whether an image with channels last outgrows a core's own caches. Then a kernel that takes a piece of every
// pixel, and comes back for the next piece, waits for memory.
#pragma once

#include "ir/schedules/layer.h"

namespace pooljit::ir {

// Images of fewer bytes wait for nothing: the first cache holds them, or nearly.
inline constexpr int64_t first_cache_image = int64_t{1} << 16;

// The first cache does not hold the image, and the second does.
bool is_in_second_cache(const Layer& layer);

// Maxima, sums and averages alone: what else is done with an element costs more than where it comes from.
bool waits_for_loads(const PoolNest& nest);

// Windows have pixels in common.
bool overlaps(const PoolNest& nest);

// One window, for maxima, sums or averages alone, that the first cache does not hold, and the second does;
// with registers for eight vectors and more.
bool is_one_near_window(const Layer& layer);

// It is best to load every tap of every window, one window after the other: arithmetic is so little that
// memory decides.
bool prefers_whole_pixels(const Layer& layer);
// Rows are better read whole; ... so far that what rolls had better do so in strips.
bool prefers_whole_rows(const Layer& layer);
bool prefers_strips(const Layer& layer);

// Pixels of so few channels, of elements that cannot be masked, that only rows of pixels fill vectors.
bool has_few_channels(const Layer& layer);

// Maxima of bytes that one vector of channels had best roll along the row for, where registers are few: they
// hold what windows share, and the image is near.
bool rolls_over_bytes(const Layer& layer);

}  // namespace pooljit::ir
