#include "ir/schedules/lowering/prefetch.h"

#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {
namespace {

// Images of more bytes outgrow most caches that cores share.
constexpr int64_t far_bytes = int64_t{8} << 20;
// Images of more bytes outgrow a core's own caches.
constexpr int64_t least_foreseen_bytes = int64_t{1} << 20;
constexpr int64_t taps_ahead = 4;

}  // namespace

// The hardware prefetcher stops at each page. Only images that come from memory gain. AVX2 was measured on a
// Zen 3, AVX-512 on a Sapphire Rapids.
int64_t row_bytes_ahead(const PoolNest& nest, Isa isa) {
  constexpr int64_t page = 4096, long_row = 448;
  const bool in_order =
      nest.direction == Direction::forward && nest.input.channel_block == 1 && nest.input.strides.back() == 1;
  const int64_t row = nest.dims.back().input * bytes(nest.input.dtype);
  const bool are_short_vectors = info(isa).vector_bytes < 64;
  const int64_t least = are_short_vectors && row >= long_row ? far_bytes / 2 : far_bytes;
  return in_order && image_bytes(nest) > least ? page : 0;
}

// Parts of pixels come in pieces that no hardware foresees.
int64_t tap_bytes_ahead(const PoolNest& nest, int64_t channels) {
  const NestDim& row = nest.dims.back();
  if (nest.channels <= channels || row.most_taps() < taps_ahead || image_bytes(nest) <= least_foreseen_bytes)
    return 0;
  return byte_stride(nest.input, nest.input.strides.back() * row.tap_step() * taps_ahead);
}

}  // namespace pooljit::ir
