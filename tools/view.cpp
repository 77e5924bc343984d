#include "tools/view.h"

#include <algorithm>
#include <cstring>

namespace pooljit::tools {
namespace {

// Logical order (N, C, spatial...) to the order of the file's axes.
std::vector<int64_t> in_file_order(const frontend::PoolSpec& spec, std::vector<int64_t> logical) {
  if (spec.layout == frontend::Layout::nhwc) {
    const auto channel = logical.begin() + (spec.batch ? 1 : 0);
    std::rotate(channel, channel + 1, logical.end());
  }
  return logical;
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
      at += view.strides[axis];
      if (++position[axis] < view.shape[axis]) break;
      at -= view.strides[axis] * view.shape[axis];
      position[axis] = 0;
    }
  }
}

}  // namespace

int64_t FileView::elements() const {
  int64_t product = 1;
  for (const int64_t size : shape) product *= size;
  return product;
}

int64_t FileView::extent() const {
  if (elements() == 0) return 0;
  int64_t last = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) last += (shape[axis] - 1) * strides[axis];
  return last + 1;
}

bool FileView::packed() const {
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != stride) return false;
    stride *= shape[axis];
  }
  return true;
}

FileView input_view(const frontend::PoolSpec& spec) {
  return {in_file_order(spec, input_shape(spec)), in_file_order(spec, input_strides(spec))};
}

FileView output_view(const frontend::PoolSpec& spec) {
  return {in_file_order(spec, output_shape(spec)), in_file_order(spec, output_strides(spec))};
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
