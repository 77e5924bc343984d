#include "ir/schedules/lanes/channel_blocks.h"

#include <algorithm>

namespace pooljit::ir {
namespace {

// Calls use for each view of the nest.
template <typename Use>
void for_each_view(const PoolNest& nest, const Use& use) {
  use(nest.input);
  use(nest.output);
  if (nest.indices) use(*nest.indices);
}

int64_t adjacent_in(const View& view, const PoolNest& nest) {
  return view.channel_block > 1 || view.channel_stride != 1 ? std::min(view.channel_block, nest.channels)
                                                            : nest.channels;
}

}  // namespace

int64_t adjacent_channels(const PoolNest& nest) {
  int64_t adjacent = nest.channels;
  for_each_view(nest, [&](const View& view) { adjacent = std::min(adjacent, adjacent_in(view, nest)); });
  return adjacent;
}

int64_t adjacent_channels_read(const PoolNest& nest) {
  if (nest.output.channel_block > 1) return adjacent_channels(nest);
  const int64_t adjacent = adjacent_in(nest.input, nest);
  return nest.indices && nest.is_backward() ? std::min(adjacent, adjacent_in(*nest.indices, nest)) : adjacent;
}

int64_t even_channels(const PoolNest& nest) {
  int64_t even = nest.channels;
  for_each_view(nest, [&](const View& view) {
    if (view.channel_block > 1) even = std::min(even, view.channel_block);
  });
  return even;
}

bool reads_whole_pixels(const PoolNest& nest) {
  return nest.direction == Direction::forward && adjacent_channels(nest) == nest.channels;
}

int64_t largest_block(const PoolNest& nest) {
  int64_t block = 1;
  for_each_view(nest, [&](const View& view) { block = std::max(block, view.channel_block); });
  return block;
}

int64_t channel_vectors(const PoolNest& nest, int lanes) { return (nest.channels + lanes - 1) / lanes; }

int64_t image_bytes(const PoolNest& nest) {
  int64_t image = nest.channels * bytes(nest.input.dtype);
  for (const NestDim& dim : nest.dims) image *= dim.input;
  return image;
}

int64_t moved_bytes(const PoolNest& nest) {
  int64_t outputs = nest.channels;
  for (const NestDim& dim : nest.dims) outputs *= dim.output;
  return image_bytes(nest) + outputs * bytes(nest.output.dtype);
}

int64_t channel_bytes(const View& view, int64_t channels) {
  return view.channel_offset(channels) * bytes(view.dtype);
}

}  // namespace pooljit::ir
