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

// Loads of a loop whose step is at most so many bytes are fetched early from the second cache. Those with
// larger steps, up to 6 KB, are not: up to twice the time on a Zen 5, straight-line code of windows and
// planes.
inline constexpr int64_t near_step_bytes = 1800;

}  // namespace pooljit::ir
