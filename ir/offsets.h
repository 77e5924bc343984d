// Offsets of the elements of a view, and the elements of index tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/check.h"
#include "ir/element_type.h"
#include "ir/nest.h"

namespace pooljit::ir {

// Where the plane of one (n, c) begins in a view, and where a position lies in it.
inline int64_t plane_offset(const View& view, int64_t n, int64_t c) {
  return n * view.batch_stride + view.channel_offset(c);
}
inline int64_t position_offset(const View& view, const std::vector<int64_t>& position) {
  int64_t offset = 0;
  for (size_t d = 0; d < position.size(); ++d) offset += position[d] * view.strides[d];
  return offset;
}

// Elements from the first to the last of a view, both included; 0 without a batch. extent: of the view's side
// of a dimension.
inline int64_t reach(const PoolNest& nest, const View& view, int64_t batch,
                     int64_t NestDim::*extent = &NestDim::output) {
  if (batch == 0) return 0;
  int64_t last = plane_offset(view, batch - 1, nest.channels - 1) + view.channel_block - 1;
  for (size_t d = 0; d < nest.dims.size(); ++d) last += (nest.dims[d].*extent - 1) * view.strides[d];
  return last + 1;
}

// An element of an index tensor.
template <typename Visit>
auto with_index_type(DType dtype, const Visit& visit) {
  if (dtype == DType::i64) return visit(int64_t{});
  if (dtype == DType::i32) return visit(int32_t{});
  POOLJIT_CHECK(dtype == DType::u8, "indices are int64, int32 or uint8");
  return visit(uint8_t{});
}
inline void store_index(DType dtype, void* indices, int64_t at, int64_t index) {
  with_index_type(dtype, [&]<typename T>(T) { store_element<T>(indices, at, static_cast<T>(index)); });
}
inline int64_t load_index(DType dtype, const void* indices, int64_t at) {
  return with_index_type(dtype, [&]<typename T>(T) { return int64_t{load_element<T>(indices, at)}; });
}

}  // namespace pooljit::ir
