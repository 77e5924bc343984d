#include "runtime/unpool/zeros.h"

#include <algorithm>
#include <cstring>

namespace pooljit::runtime {
namespace {

// Long enough that the processor fills lines without reading them first, and still in its first-level cache.
constexpr int64_t step_bytes = 16384;

template <typename T>
void fill_apart(std::byte* to, int64_t count, int64_t stride) {
  T* const elements = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) elements[i * stride] = 0;
}

void fill_apart(std::byte* to, int64_t count, int64_t stride, int64_t width) {
  if (width == 1) return fill_apart<uint8_t>(to, count, stride);
  if (width == 2) return fill_apart<uint16_t>(to, count, stride);
  if (width == 4) return fill_apart<uint32_t>(to, count, stride);
  fill_apart<uint64_t>(to, count, stride);
}

}  // namespace

void Zeros::put(Side side, Sides& sides) {
  sides.insert(std::ranges::find_if(sides, [&](const Side& other) { return other.stride < side.stride; }),
               side);
}

Zeros::Zeros(const Digits& plane, std::byte* first, int64_t channels, int64_t channel_stride, int64_t width)
    : plane_(plane), first_(first), width_(width) {
  int64_t elements = channels;
  bool reaches_over = false;  // what one value counts is scattered over the plane
  for (size_t i = 1; i < plane.size(); ++i) {
    put({static_cast<int64_t>(plane[i].extent), plane[i].stride}, inner_);
    elements *= static_cast<int64_t>(plane[i].extent);
    reaches_over = reaches_over || plane[i].stride > plane[0].stride;
  }
  if (channels > 1) put({channels, channel_stride}, inner_);
  is_dense_ = elements == plane[0].stride && (channels == 1 || (plane.size() == 1 && channel_stride == 1));
  digit_bytes_ = elements * width;
  step_ =
      reaches_over ? plane[0].extent : static_cast<uint64_t>(std::max<int64_t>(step_bytes / digit_bytes_, 1));
}

bool Zeros::fill(uint64_t digit) {
  const uint64_t extent = plane_[0].extent;
  if (digit >= extent) return false;
  if (digit < done_) return true;
  const uint64_t end = std::min(std::max(digit + 1, done_ + step_), extent);
  if (is_dense_) {
    const auto piece = static_cast<size_t>(plane_[0].stride * width_);
    std::memset(first_ + done_ * piece, 0, (end - done_) * piece);
  } else {
    fill(done_, end);
  }
  done_ = end;
  return true;
}

void Zeros::fill(uint64_t begin, uint64_t end) const {
  Sides sides = inner_;
  put({static_cast<int64_t>(end - begin), plane_[0].stride}, sides);
  Side row = sides.back();
  sides.pop_back();
  while (!sides.empty() && sides.back().stride == row.stride * row.extent) {
    row.extent *= sides.back().extent;
    sides.pop_back();
  }
  std::array<int64_t, most_dims> at{};
  std::byte* to = first_ + static_cast<int64_t>(begin) * plane_[0].stride * width_;
  for (size_t outer = 1; outer > 0;) {
    if (row.stride == 1)
      std::memset(to, 0, static_cast<size_t>(row.extent * width_));
    else
      fill_apart(to, row.extent, row.stride, width_);
    for (outer = sides.size(); outer > 0; --outer) {
      const Side& side = sides[outer - 1];
      to += side.stride * width_;
      if (++at[outer - 1] < side.extent) break;
      to -= side.stride * side.extent * width_;
      at[outer - 1] = 0;
    }
  }
}

}  // namespace pooljit::runtime
