// FileView: how the packed array of an npy file lies in a tensor's view. The file's axes are in the order of
// the layout: (N, C, spatial...) for nchw, (N, spatial..., C) for nhwc; without N for an unbatched spec. With
// explicit strides or blocks the file is still packed, and its elements are scattered into (or gathered from)
// the view.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "frontend/pool_spec.h"

namespace pooljit::tools {

struct FileView {
  std::vector<int64_t> shape;    // of the file, outermost first
  std::vector<int64_t> strides;  // of the view, in elements, for the same axes
  size_t channel = 0;            // the axis of the channels
  int64_t block = 1;             // channels that lie together; their stride is that of blocks

  int64_t elements() const;  // of the file
  int64_t offset(size_t axis, int64_t position) const;
  int64_t extent() const;  // from the view's first element to its last one, both included
  bool packed() const;     // file and view are the same bytes
};

FileView input_view(const frontend::PoolSpec& spec);
// Of the results of a pool in the output that they go to, and of its indices.
FileView output_view(const frontend::PoolSpec& spec, size_t pool = 0);
FileView indices_view(const frontend::PoolSpec& spec, size_t pool);
// Of what include_input puts before the results of all pools, as the input's file is ordered.
FileView copied_view(const frontend::PoolSpec& spec);
// By operand of the epilogues, as ir::operand_views() lists them.
std::vector<FileView> operand_views(const frontend::PoolSpec& spec);

// Bytes of the data in the file, and of the tensor in memory.
size_t file_bytes(const FileView& view, ir::DType dtype);
size_t tensor_bytes(const FileView& view, ir::DType dtype);

void scatter(const FileView& view, ir::DType dtype, const std::byte* file, std::byte* tensor);
void gather(const FileView& view, ir::DType dtype, const std::byte* tensor, std::byte* file);

}  // namespace pooljit::tools
