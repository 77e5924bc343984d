#include "tools/view.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pooljit::tools {
namespace {

// From logical order (N, C, spatial...) to the order of the file's axes.
FileView file_view(const frontend::PoolSpec& spec, frontend::Layout layout, std::vector<int64_t> shape,
                   std::vector<int64_t> strides) {
  FileView view{std::move(shape), std::move(strides), size_t{spec.batch ? 1U : 0U}, channel_block(layout)};
  if (layout != frontend::Layout::nhwc) return view;
  for (std::vector<int64_t>* axes : {&view.shape, &view.strides}) {
    const auto channel = axes->begin() + static_cast<std::ptrdiff_t>(view.channel);
    std::rotate(channel, channel + 1, axes->end());
  }
  view.channel = view.shape.size() - 1;
  return view;
}

// Calls body(file element, view element) for every element, in the file's order.
template <typename Body>
void for_elements(const FileView& view, const Body& body) {
  const int64_t count = view.elements();
  std::vector<int64_t> position(view.shape.size(), 0);
  int64_t at = 0;
  for (int64_t element = 0; element < count; ++element) {
    body(element, at);
    for (size_t axis = view.shape.size(); axis-- > 0;) {
      at -= view.offset(axis, position[axis]);
      if (++position[axis] == view.shape[axis]) position[axis] = 0;
      at += view.offset(axis, position[axis]);
      if (position[axis] != 0) break;
    }
  }
}

}  // namespace

int64_t FileView::elements() const {
  int64_t product = 1;
  for (const int64_t size : shape) product *= size;
  return product;
}

int64_t FileView::offset(size_t axis, int64_t position) const {
  if (axis != channel) return position * strides[axis];
  return position / block * strides[axis] + position % block;
}

int64_t FileView::extent() const {
  if (elements() == 0) return 0;
  int64_t last = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t full = shape[axis] / block * block;
    last += std::max(offset(axis, shape[axis] - 1),
                     axis == channel && full > 0 ? offset(axis, full - 1) : int64_t{0});
  }
  return last + 1;
}

bool FileView::packed() const {
  if (block > 1) return false;
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != stride) return false;
    stride *= shape[axis];
  }
  return true;
}

FileView input_view(const frontend::PoolSpec& spec) {
  return file_view(spec, spec.layout, input_shape(spec), input_strides(spec));
}

FileView output_view(const frontend::PoolSpec& spec, size_t pool) {
  const frontend::PoolSpec& own = pools_of(spec)[pool];
  const size_t output = spec.concat ? 0 : pool;
  return file_view(own, output_layout(outputs_of(spec)[output]), output_shape(own),
                   output_strides(spec, output));
}

FileView indices_view(const frontend::PoolSpec& spec, size_t pool) {
  const frontend::PoolSpec& own = pools_of(spec)[pool];
  if (!has_indices_like_output(own)) return input_view(own);
  return file_view(own, output_layout(outputs_of(spec)[spec.concat ? 0 : pool]), output_shape(own),
                   output_strides(own));
}

FileView copied_view(const frontend::PoolSpec& spec) {
  return file_view(spec, spec.layout, input_shape(spec), output_strides(spec));
}

std::vector<FileView> operand_views(const frontend::PoolSpec& spec) {
  std::vector<FileView> views;
  for (const auto& [is_tensor, pool, layout, shape, strides] : frontend::operands(spec))
    views.push_back(is_tensor ? file_view(*pool, layout, shape, strides) : FileView{{pool->channels}, {1}});
  return views;
}

size_t file_bytes(const FileView& view, ir::DType dtype) {
  return static_cast<size_t>(view.elements() * ir::bytes(dtype));
}

size_t tensor_bytes(const FileView& view, ir::DType dtype) {
  return static_cast<size_t>(view.extent() * ir::bytes(dtype));
}

void scatter(const FileView& view, ir::DType dtype, const std::byte* file, std::byte* tensor) {
  const int64_t bytes = ir::bytes(dtype);
  for_elements(view, [&](int64_t from, int64_t to) {
    std::memcpy(tensor + to * bytes, file + from * bytes, static_cast<size_t>(bytes));
  });
}

void gather(const FileView& view, ir::DType dtype, const std::byte* tensor, std::byte* file) {
  const int64_t bytes = ir::bytes(dtype);
  for_elements(view, [&](int64_t to, int64_t from) {
    std::memcpy(file + to * bytes, tensor + from * bytes, static_cast<size_t>(bytes));
  });
}

}  // namespace pooljit::tools
