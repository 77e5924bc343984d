// Channels that lie next to each other: what families whose vectors run along the channels ask of the views.
#pragma once

#include "ir/nest.h"

namespace pooljit::ir {

// Channels that lie next to each other in all views.
int64_t adjacent_channels(const PoolNest& nest);

// Channels after which all views begin a block. (Blocks are powers of two.)
int64_t largest_block(const PoolNest& nest);

// Vectors that hold all channels.
int64_t channel_vectors(const PoolNest& nest, int lanes);

// All that one image's windows may read, in bytes.
int64_t image_bytes(const PoolNest& nest);

// Images of more bytes outgrow a core's own caches.
constexpr int64_t near_bytes = int64_t{1} << 20;

// From a channel that begins a block to the one so many channels further on.
int64_t channel_bytes(const View& view, int64_t channels);

}  // namespace pooljit::ir
