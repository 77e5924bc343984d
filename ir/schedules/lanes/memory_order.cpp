#include "ir/schedules/lanes/memory_order.h"

#include <algorithm>

#include "ir/schedules/lanes/channel_blocks.h"

namespace pooljit::ir {
namespace {

template <typename T>
void move_last(std::vector<T>& all, size_t d) {
  std::rotate(all.begin() + static_cast<std::ptrdiff_t>(d), all.begin() + static_cast<std::ptrdiff_t>(d) + 1,
              all.end());
}

// Any order of taps gives the same result.
bool has_any_order(const PoolNest& nest) {
  if (nest.is_extreme()) return !is_float(nest.input.dtype) || nest.zeros == ZeroRule::any;
  return !is_float(nest.input.dtype) && !nest.is_norm();
}

// Whether the dimension may become the innermost one: windows keep the order of their taps if it has one, or
// if those that it passes have.
bool may_move_last(const PoolNest& nest, size_t d) {
  const auto has_one_tap = [](const NestDim& dim) { return dim.most_taps() == 1; };
  return has_any_order(nest) || has_one_tap(nest.dims[d]) ||
         std::all_of(nest.dims.begin() + static_cast<std::ptrdiff_t>(d) + 1, nest.dims.end(), has_one_tap);
}

// Vectors of its outputs beat one lane: of fewer, and of windows far apart, each tap is moved for a few lanes
// only (0.5 to 1.4 times as fast; the others 1.2 to 8 times, busy Xeon).
bool fills_vectors(const NestDim& dim) {
  constexpr int64_t least_outputs = 8;
  return dim.output >= 2 * dim.stride && (dim.most_taps() == 1 || dim.output >= least_outputs);
}

// whole_planes takes a plane of one column for its rows: 0.5 to 1 of the time where maxima move by one.
bool is_plane_of_maxima(const PoolNest& nest, size_t d) {
  return nest.dims.size() == 2 && nest.dims.back().input == 1 && nest.is_extreme() &&
         nest.dims[d].stride == 1;
}

// Results that would be stored one by one for a load each: 0.5 to 0.8 of the speed.
bool only_moves(const PoolNest& nest, size_t d) {
  constexpr int64_t few_taps = 2;
  return nest.output.strides[d] != 1 && nest.full_taps() <= few_taps;
}

// Elements so near that masked vectors hold several, where columns and channels are farther apart: a line is
// read by one vector, and not by each of its columns. 1.4 times as fast over 29 layers with AVX-512 (0.95
// to 3.0, busy Xeon); elements of 8 bytes three apart 0.9. AVX2 joins too few a vector: 0.9 over 15.
bool lies_nearest(const PoolNest& nest, size_t d, Isa isa) {
  constexpr int64_t most_apart = 4, most_bytes = 16, times_nearer = 4;
  const int64_t stride = nest.input.strides[d];
  const auto is_far = [&](int64_t extent, int64_t other) {
    return extent == 1 || other >= times_nearer * stride;
  };
  if (!info(isa).masks_narrow || stride < 2 || stride > most_apart ||
      stride * bytes(nest.input.dtype) > most_bytes)
    return false;
  for (size_t other = 0; other < nest.dims.size(); ++other)
    if (other != d && !is_far(nest.dims[other].input, nest.input.strides[other])) return false;
  return is_far(nest.channels, nest.input.channel_stride);
}

}  // namespace

std::optional<PoolNest> in_memory_order(const PoolNest& nest, Isa isa) {
  if (nest.has_any_size() || nest.direction != Direction::forward || nest.indices ||
      nest.input.channel_block > 1 || adjacent_channels_read(nest) > 1)
    return std::nullopt;
  const NestDim& row = nest.dims.back();
  if (nest.input.strides.back() == 1 && row.input > 1) return std::nullopt;
  for (size_t d = nest.dims.size() - 1; d-- > 0;) {
    if ((nest.input.strides[d] != 1 && !lies_nearest(nest, d, isa)) || !fills_vectors(nest.dims[d]) ||
        !may_move_last(nest, d) || is_plane_of_maxima(nest, d) || only_moves(nest, d))
      continue;
    PoolNest ordered = nest;
    move_last(ordered.dims, d);
    move_last(ordered.input.strides, d);
    move_last(ordered.output.strides, d);
    return ordered;
  }
  return std::nullopt;
}

}  // namespace pooljit::ir
