#include "runtime/memory_view.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "ir/pools.h"

namespace pooljit::runtime {
namespace {

// A view seen modulo a period: dims whose stride is at least `threshold` are steps over periods, the others
// make up a block within one.
struct Folded {
  int64_t period = 0;  // gcd of the outer strides; 0 if there are none
  int64_t block = 0;   // bytes from the block's first to behind its last
};

Folded fold(const MemoryView& view, int64_t threshold) {
  Folded folded{0, view.element_bytes};
  for (const MemoryView::Dim& dim : view.dims()) {
    folded.block += (std::min(dim.extent, dim.block) - 1) * view.element_bytes;
    if (dim.extent <= dim.block) continue;
    if (dim.stride >= threshold)
      folded.period = std::gcd(folded.period, dim.stride);
    else
      folded.block += (dim.extent - 1) / dim.block * dim.stride;
  }
  return folded;
}

// True if no period's worth of a's block touches b's, wherever the periods lie.
bool apart(const MemoryView& a, const MemoryView& b, int64_t distance, int64_t threshold) {
  const Folded x = fold(a, threshold), y = fold(b, threshold);
  const int64_t period = std::gcd(x.period, y.period);
  if (period == 0) return false;                                // the spans have been compared already
  const int64_t shift = (distance % period + period) % period;  // of b's block behind a's, within the period
  return shift >= x.block && shift + y.block <= period;
}

MemoryView memory_view(const ir::PoolNest& nest, const ir::View& view, int64_t batch,
                       int64_t ir::NestDim::*extent) {
  MemoryView memory;
  memory.element_bytes = ir::bytes(view.dtype);
  const auto add = [&](int64_t count, int64_t stride) {
    memory.room[memory.rank++] = {count, stride * memory.element_bytes, 1};
  };
  add(batch, view.batch_stride);
  add(nest.channels, view.channel_stride);
  memory.room[1].block = view.channel_block;
  for (size_t i = 0; i < nest.dims.size(); ++i) add(nest.dims[i].*extent, view.strides[i]);
  return memory;
}

}  // namespace

int64_t MemoryView::Dim::last(int64_t element_bytes) const {
  if (block == 1) return (extent - 1) * stride;  // nearly always, and of every call: no division
  const int64_t end = offset(extent - 1, element_bytes);
  // The end of the last full block.
  const int64_t full = extent / block * block;
  return full == 0 ? end : std::max(end, offset(full - 1, element_bytes));
}

int64_t MemoryView::span_bytes() const {
  int64_t last = 0;
  for (const Dim& dim : dims()) {
    if (dim.extent == 0) return 0;
    last += dim.last(element_bytes);
  }
  return rank == 0 ? 0 : last + element_bytes;
}

int64_t MemoryView::element_count() const {
  int64_t count = rank == 0 ? 0 : 1;
  for (const Dim& dim : dims()) count *= dim.extent;
  return count;
}

MemoryView MemoryView::with_batch(int64_t batch) const {
  MemoryView view = *this;
  view.room[0].extent = batch;
  return view;
}

MemoryView input_view(const ir::PoolNest& nest, int64_t batch) {
  return memory_view(nest, nest.input, batch, &ir::NestDim::input);
}

MemoryView output_view(const ir::PoolNest& nest, int64_t batch) {
  MemoryView all = memory_view(pools_of(nest).front(), nest.output, batch, &ir::NestDim::output);
  all.room[1].extent *= std::ssize(pools_of(nest));
  return all;
}

MemoryView indices_view(const ir::PoolNest& nest, int64_t batch) {
  const auto extent = nest.direction != ir::Direction::forward ? &ir::NestDim::input : &ir::NestDim::output;
  return nest.indices ? memory_view(nest, *nest.indices, batch, extent) : MemoryView{};
}

std::vector<MemoryView> all_outputs(const ir::PoolNest& nest, int64_t batch) {
  std::vector<MemoryView> views;
  for (const ir::PoolNest& each : nest.outputs()) views.push_back(output_view(each, batch));
  return views;
}

std::vector<MemoryView> all_indices(const ir::PoolNest& nest, int64_t batch) {
  std::vector<MemoryView> views;
  for (const ir::PoolNest& pool : pools_of(nest))
    if (pool.indices) views.push_back(indices_view(pool, batch));
  return views;
}

std::vector<MemoryView> operand_memory(const ir::PoolNest& nest, int64_t batch) {
  std::vector<MemoryView> views;
  for (const ir::PoolNest& pool : pools_of(nest)) {
    size_t number = 0;
    for (const ir::View& view : operand_views(pool))
      views.push_back(memory_view(pool, view, batch, operand_extent(pool, number++)));
  }
  return views;
}

bool overlap(const MemoryView& a, const void* a_begin, const MemoryView& b, const void* b_begin) {
  const auto a_address = reinterpret_cast<intptr_t>(a_begin), b_address = reinterpret_cast<intptr_t>(b_begin);
  const int64_t distance = b_address - a_address;
  if (distance >= a.span_bytes() || -distance >= b.span_bytes()) return false;
  for (const MemoryView* view : {&a, &b})
    for (const MemoryView::Dim& dim : view->dims())
      if (dim.extent > dim.block && dim.stride > 0 && apart(a, b, distance, dim.stride)) return false;
  return true;
}

}  // namespace pooljit::runtime
