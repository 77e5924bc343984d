#include "runtime/proof/tensor.h"

#include <algorithm>
#include <cstring>

#include "ir/window_taps.h"

namespace pooljit::runtime {
namespace {

template <typename F>
auto with_width(int64_t bytes, const F& f) {
  switch (bytes) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

// The longest stretches, all alike, in which each offset is the one before and 1.
size_t stretch(const std::vector<int64_t>& offsets) {
  size_t length = 1;
  while (length < offsets.size() && offsets[length] == offsets[0] + int64_t(length)) ++length;
  const auto breaks = [&](size_t i) { return i % length != 0 && offsets[i] != offsets[i - 1] + 1; };
  for (size_t i = 1; i < offsets.size(); ++i)
    if (breaks(i)) return 1;
  return offsets.size() % length == 0 ? length : 1;
}

// The planes that are chosen, as elements of their type.
template <typename T>
class Elements {
 public:
  Elements(const Lattice::Content& content, size_t planes) : addends_(content.addends) {
    std::vector<std::vector<T>> made(content.planes.size());
    for (size_t i = 0; i < planes; ++i) {
      const size_t chosen = content.chosen(i);
      if (made[chosen].empty())
        made[chosen].assign(content.planes[chosen].begin(), content.planes[chosen].end());
      chosen_.push_back(chosen);
    }
    made_ = std::move(made);
  }

  T at(size_t plane, size_t position) const {
    const T value = made_[chosen_[plane]][position];
    if (addends_.empty() || value == static_cast<T>(no_index)) return value;
    return static_cast<T>(value + static_cast<T>(addends_[plane]));
  }
  // Null where elements are not what lies in a plane, as it lies there.
  const T* positions(size_t plane, size_t position) const {
    return addends_.empty() ? &made_[chosen_[plane]][position] : nullptr;
  }

 private:
  std::vector<std::vector<T>> made_;
  std::vector<size_t> chosen_;  // by plane
  std::span<const int64_t> addends_;
};

}  // namespace

Lattice::Lattice(const ir::PoolNest& nest, const ir::View& view, int64_t batch, int64_t ir::NestDim::*extent)
    : width_(ir::bytes(view.dtype)), batches_(size_t(batch)) {
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t c = 0; c < nest.channels; ++c) planes_.push_back(ir::plane_offset(view, n, c));
  std::vector<int64_t> at(nest.dims.size(), 0);
  for (;;) {
    positions_.push_back(ir::position_offset(view, at));
    size_t d = at.size();
    while (d > 0 && ++at[d - 1] == nest.dims[d - 1].*extent) at[--d] = 0;
    if (d == 0) break;
  }
  if (batch == 0) return;
  span_ = *std::max_element(planes_.begin(), planes_.end()) +
          *std::max_element(positions_.begin(), positions_.end()) + 1;
  const std::vector<int64_t> image(planes_.begin(), planes_.begin() + int64_t(planes_.size() / batches_));
  along_planes_ = image.size() > 1 && (positions_.size() == 1 || image[1] - image[0] < positions_[1]);
  row_ = stretch(along_planes_ ? image : positions_);
}

// In an order that is kind to memory.
template <typename Visit>
bool Lattice::for_each_row(const Visit& visit) const {
  const size_t group = along_planes_ ? planes_.size() / batches_ : 1;
  const size_t plane_step = along_planes_ ? row_ : 1, position_step = along_planes_ ? 1 : row_;
  for (size_t first = 0; first < planes_.size(); first += group)
    for (size_t position = 0; position < positions_.size(); position += position_step)
      for (size_t plane = first; plane < first + group; plane += plane_step)
        if (!visit(Row{plane, position, planes_[plane] + positions_[position]})) return false;
  return true;
}

bool Lattice::repeats() const {
  std::vector<bool> taken(size_t(span_), false);
  for (const int64_t plane : planes_)
    for (const int64_t position : positions_) {
      if (taken[size_t(plane + position)]) return true;
      taken[size_t(plane + position)] = true;
    }
  return false;
}

void Lattice::for_each_stretch(const std::function<void(int64_t, int64_t)>& visit) const {
  for_each_row([&](const Row& row) {
    visit(row.offset, int64_t(row_));
    return true;
  });
}

template <typename Visit>
void Lattice::for_each_row(const Content& content, const Visit& visit) const {
  with_width(width_, [&]<typename T>(T) {
    const Elements<T> elements(content, planes_.size());
    std::vector<T> gathered(row_);
    for_each_row([&](const Row& row) {
      if (!along_planes_)
        if (const T* there = elements.positions(row.plane, row.position)) return visit(row, there);
      for (size_t i = 0; i < row_; ++i)
        gathered[i] =
            elements.at(row.plane + (along_planes_ ? i : 0), row.position + (along_planes_ ? 0 : i));
      return visit(row, gathered.data());
    });
  });
}

void Lattice::scatter(const Content& content, std::byte* memory) const {
  for_each_row(content, [&](const Row& row, const auto* wanted) {
    std::memcpy(memory + row.offset * width_, wanted, row_ * size_t(width_));
    return true;
  });
}

std::optional<Lattice::Difference> Lattice::compare(const Content& content, const Agrees& agrees,
                                                    const std::byte* memory) const {
  std::optional<Difference> difference;
  for_each_row(content, [&](const Row& row, const auto* wanted) {
    const std::byte* at = memory + row.offset * width_;
    if (std::memcmp(at, wanted, row_ * size_t(width_)) == 0) return true;
    for (size_t i = 0; i < row_ && !difference; ++i, at += width_) {
      auto found = wanted[i];
      std::memcpy(&found, at, sizeof found);
      const Difference here = {row.plane + (along_planes_ ? i : 0), row.position + (along_planes_ ? 0 : i),
                               wanted[i], found};
      if (found != wanted[i] && !agrees(here)) difference = here;
    }
    return !difference;
  });
  return difference;
}

}  // namespace pooljit::runtime
