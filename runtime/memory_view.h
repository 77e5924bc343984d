// MemoryView: which bytes a strided view occupies, relative to its first element. Copying it allocates
// nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/nest.h"
#include "runtime/limits.h"

namespace pooljit::runtime {

struct MemoryView {
  struct Dim {
    int64_t extent = 0, stride = 0;  // stride in bytes, >= 0
    int64_t block = 1;               // positions that lie together; the stride is that of blocks
    int64_t offset(int64_t position, int64_t element_bytes) const {
      return position / block * stride + position % block * element_bytes;
    }
    int64_t last(int64_t element_bytes) const;  // the largest offset
  };
  std::array<Dim, max_task_dims> room{};
  size_t rank = 0;  // 0: there is no such view
  int64_t element_bytes = 0;

  // dims()[0] is the batch.
  std::span<const Dim> dims() const { return {room.data(), rank}; }

  // From the first byte to behind the last. 0 if an extent is 0.
  int64_t span_bytes() const;
  int64_t element_count() const;
  MemoryView with_batch(int64_t batch) const;
};

// Rank 0 if the nest has none: outputs and indices of a nest with members are several.
MemoryView input_view(const ir::PoolNest& nest, int64_t batch);
MemoryView output_view(const ir::PoolNest& nest, int64_t batch);
MemoryView indices_view(const ir::PoolNest& nest, int64_t batch);
// All that the caller gives to be written, in the order of the members.
std::vector<MemoryView> all_outputs(const ir::PoolNest& nest, int64_t batch);
std::vector<MemoryView> all_indices(const ir::PoolNest& nest, int64_t batch);
std::vector<MemoryView> operand_memory(const ir::PoolNest& nest, int64_t batch);  // as ir::operand_views()

// True if the views may share a byte when they begin at these addresses. False is certain. True is certain
// except for interleavings without a common period. Slices of one tensor (channels of a concatenation, a
// crop, every second row) have a common period, and are told apart.
bool overlap(const MemoryView& a, const void* a_begin, const MemoryView& b, const void* b_begin);

}  // namespace pooljit::runtime
