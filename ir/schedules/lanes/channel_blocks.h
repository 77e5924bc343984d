// Adjacent channels: facts about the views for families whose vectors run along the channels.
#pragma once

#include "ir/nest.h"

namespace pooljit::ir {

// Channels that are adjacent in all views.
int64_t adjacent_channels(const PoolNest& nest);
// The same for the views that are read, if the output has no blocks: its elements are stored one by one where
// they are apart.
int64_t adjacent_channels_read(const PoolNest& nest);

// Channels that lie at equal distances in all views: those of a block, or all.
int64_t even_channels(const PoolNest& nest);

// True for a forward pass, if all channels of a pixel are adjacent in all views.
bool reads_whole_pixels(const PoolNest& nest);

// Channels after which all views begin a block. (Blocks are powers of two.)
int64_t largest_block(const PoolNest& nest);

// Vectors that hold all channels.
int64_t channel_vectors(const PoolNest& nest, int lanes);

// All that one image's windows may read, in bytes.
int64_t image_bytes(const PoolNest& nest);
// These and the bytes of its outputs.
int64_t moved_bytes(const PoolNest& nest);

// Bytes from a channel that begins a block to the one `channels` further on.
int64_t channel_bytes(const View& view, int64_t channels);

}  // namespace pooljit::ir
