// Channels that lie next to each other: what families whose vectors run along the channels ask of the views.
#pragma once

#include "ir/isa.h"
#include "ir/nest.h"

namespace pooljit::ir {

// Channels that lie next to each other in all views.
int64_t adjacent_channels(const PoolNest& nest);
// The same of what is read, where what is written has no blocks: it is stored one by one where it lies apart.
int64_t adjacent_channels_read(const PoolNest& nest);

// Forward, and all channels of a pixel lie next to each other in all views.
bool reads_whole_pixels(const PoolNest& nest);

// Channels after which all views begin a block. (Blocks are powers of two.)
int64_t largest_block(const PoolNest& nest);

// Vectors that hold all channels.
int64_t channel_vectors(const PoolNest& nest, int lanes);

// All that one image's windows may read, in bytes.
int64_t image_bytes(const PoolNest& nest);

// Images of more bytes outgrow most of what cores share.
constexpr int64_t far_bytes = int64_t{8} << 20;

// Bytes from a vector of a row to the one that is asked for early, where all rows are read one after the
// other; 0: none is. Only images that come from memory gain: what fetches lines by itself stops at each page.
int64_t row_bytes_ahead(const PoolNest& nest, Isa isa);

// From a channel that begins a block to the one so many channels further on.
int64_t channel_bytes(const View& view, int64_t channels);

}  // namespace pooljit::ir
