#include "ir/general/general.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <span>
#include <vector>

#include "ir/schedules/windows/stretch.h"
#include "ir/schedules/windows/sum_block.h"

namespace pooljit::ir {
namespace {

tl::unexpected<Error> refused(std::string what) {
  return unsupported("general.unsupported", "no code for all sizes does " + std::move(what),
                     "compile the layer for each size");
}

// The most taps along a dimension of windows that follow the extents, by rank. Sums of bytes fit into 32
// bits; rows and planes are not summed in blocks (is_long), which takes registers.
constexpr int64_t most_following_taps[] = {int64_t{1} << 22, 2 * sum_block, sum_block};
// Of averages of bytes: float32 divides so large sums, in vectors of twice the lanes of float64
// (ir/reductions/avg.cpp).
constexpr int64_t most_averaged_bytes[] = {(1 << 15) - 1, 181, 31};

// Of a gradient, whose inputs are the windows, as many as at any size.
constexpr int64_t all_inputs = 0;

// Maxima sum nothing; offsets of indices fit into 32 bits.
int64_t most_taps_of_maxima(const PoolNest& sized) {
  const bool is_nhwc = sized.index_scope == IndexScope::nhwc || sized.index_scope == IndexScope::nhwc_batch;
  const int counts_channels = sized.indices && is_nhwc;
  const int bits = 30 - counts_channels * std::bit_width(static_cast<uint64_t>(sized.channels));
  return int64_t{1} << bits / static_cast<int>(sized.dims.size());
}

int64_t most_following(const PoolNest& sized) {
  if (sized.is_backward()) return all_inputs;
  const size_t number = sized.dims.size() - 1;
  if (sized.is_extreme()) return most_taps_of_maxima(sized);
  const bool averages_bytes = sized.divides() && !sized.quantization && bytes(sized.input.dtype) == 1;
  return averages_bytes ? most_averaged_bytes[number] : most_following_taps[number];
}

bool is_pool(const NestDim& dim) { return dim.kind == DimKind::pool; }
bool is_gather(const NestDim& dim) { return dim.kind == DimKind::gather; }
bool is_dense(const NestDim& dim) {
  return dim.kind == DimKind::adaptive || (is_pool(dim) && dim.dilation == 1);
}
// Of an adaptive layer, if even.
bool is_partition(const NestDim& dim) {
  return dim.kind == DimKind::adaptive || (is_gather(dim) && dim.kernel == dim.stride && dim.dilation == 1 &&
                                           dim.pad_begin == 0 && dim.input * dim.stride == dim.output);
}

// Every window of the kernel, clipped anywhere, is a window of the stand-in, and one of them is whole.
NestDim stand_in(const NestDim& dim, Extents extents, int64_t most_taps) {
  NestDim any;
  if (extents == Extents::any_windows && most_taps == all_inputs) {
    any.input = any.kernel = dim.input;
    any.pad_begin = any.pad_end = dim.input - 1;
    any.output = 2 * dim.input - 1;
    return any;
  }
  if (extents == Extents::any_windows) {
    any.kernel = any.stride = any.input = most_taps;
    any.output = dim.output;
    return any;
  }
  if (dim.kind == DimKind::gather) {  // of a forward whose windows all are whole: of each phase one is
    any = stand_in(forward_of(dim), extents, most_taps);
    std::swap(any.input, any.output);
    any.kind = DimKind::gather;
    return any;
  }
  const int64_t reach = dim.dilation * (dim.kernel - 1) + 1;
  any.kernel = dim.kernel;
  any.stride = dim.stride;
  any.dilation = dim.dilation;
  any.pad_begin = any.pad_end = reach - 1;
  any.input = std::max<int64_t>(2, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(reach))));
  any.output = (any.input + 2 * (reach - 1) - reach) / any.stride + 1;
  return any;
}

// The same innermost strides; the others packed over so many positions of each dimension.
View packed_over(std::span<const int64_t> extents, int64_t channels, const View& view) {
  View packed = view;
  // Of one column and one row also those of channels-first lie side by side, and blocks; of one channel no
  // other. Columns that repeat have strides of their own, which are the same at all sizes.
  const int64_t column = view.strides.back();
  const bool is_planar = view.channel_block > 1 ? column > 0 && view.channel_stride >= column
                                                : view.channel_stride > column || column == 1;
  // Never 0, which code takes for a constant: an element that is read everywhere.
  int64_t step = std::max<int64_t>(view.strides.back(), 1);
  for (size_t i = packed.strides.size(); i-- > 0; step *= std::max<int64_t>(extents[i], 2))
    if (i + 1 < packed.strides.size()) packed.strides[i] = step;
  if (is_planar) packed.channel_stride = step;
  packed.batch_stride = is_planar ? step * ceil_div(channels, view.channel_block) : step;
  return packed;
}

void pack_outputs(PoolNest& nest, std::span<const int64_t> extents) {
  nest.output = packed_over(extents, nest.channels, nest.output);
  if (nest.indices) nest.indices = packed_over(extents, nest.channels, *nest.indices);
}

std::vector<int64_t> extents_of(const PoolNest& nest, int64_t NestDim::*extent) {
  std::vector<int64_t> extents;
  for (const NestDim& dim : nest.dims) extents.push_back(dim.*extent);
  return extents;
}

}  // namespace

Result<PoolNest> general_nest(const PoolNest& sized, Extents extents) {
  if (sized.dims.size() > std::size(most_following_taps)) return refused("so many dimensions");
  if (sized.direction == Direction::unpool) return refused("unpools");
  const bool follow = extents == Extents::any_windows;
  if (sized.is_backward() && !std::ranges::all_of(sized.dims, follow ? is_partition : is_gather))
    return refused("gradients of such windows");
  if (!sized.is_backward() && !std::ranges::all_of(sized.dims, follow ? is_dense : is_pool))
    return refused("such windows");
  PoolNest any = sized;
  any.extents = extents;
  for (NestDim& dim : any.dims) dim = stand_in(dim, extents, most_following(sized));
  const std::vector<int64_t> inputs = extents_of(any, &NestDim::input);
  // Windows that follow the extents are as many at all sizes.
  const bool are_windows_read = follow && any.is_backward();
  if (are_windows_read)
    any.output = packed_over(extents_of(any, &NestDim::output), any.channels, any.output);
  else
    any.input = packed_over(inputs, any.channels, any.input);
  if (!follow) pack_outputs(any, inputs);
  if (any.index_scope == IndexScope::nhwc_batch) any.index_scope = IndexScope::nhwc;
  return any;
}

PoolNest usual_nest(const PoolNest& general) {
  constexpr int64_t usual_extents[] = {784, 28, 10}, extents_of_whole[] = {49, 7, 4};  // by rank
  PoolNest usual = general;
  usual.extents = Extents::known;
  for (NestDim& dim : usual.dims) {
    if (general.extents == Extents::any_windows) {
      dim.input = dim.kernel = dim.stride = extents_of_whole[usual.dims.size() - 1];
      dim.output = 1;
      continue;
    }
    const int64_t reach = dim.dilation * (dim.kernel - 1) + 1;
    dim.input = std::max(usual_extents[usual.dims.size() - 1], reach);
    dim.pad_begin = dim.pad_end = (reach - 1) / 2;
    dim.output = (dim.input + 2 * dim.pad_begin - reach) / dim.stride + 1;
  }
  usual.input = packed_over(extents_of(usual, &NestDim::input), usual.channels, usual.input);
  pack_outputs(usual, extents_of(usual, &NestDim::output));
  return usual;
}

Result<PoolNest> general_pools(const PoolNest& sized, std::span<const Extents> of_pools) {
  PoolNest any = sized;
  for (size_t i = 0; i < of_pools.size(); ++i) {
    auto pool = general_nest(pools_of(sized)[i], of_pools[i]);
    if (!pool) return pool;
    pools_of(any)[i] = std::move(*pool);
  }
  // What nobody lowers: of the first pool, so that all sizes have the same.
  const PoolNest& first = pools_of(any).front();
  any.extents = first.extents;
  any.dims = first.dims;
  any.input = first.input;
  any.output = first.output;
  std::ranges::fill(any.member_offsets, 0);
  return any;
}

}  // namespace pooljit::ir
