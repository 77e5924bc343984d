#include "runtime/proof/tensor.h"

#include <algorithm>
#include <cstring>

#include "ir/places.h"

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
  if (batch > 0)
    span_ = *std::max_element(planes_.begin(), planes_.end()) +
            *std::max_element(positions_.begin(), positions_.end()) + 1;
}

// visit(plane, position) in an order that is kind to memory, until it returns false.
template <typename Visit>
bool Lattice::walk(const Visit& visit) const {
  const bool planes_inside =
      planes_.size() > 1 && positions_.size() > 1 && planes_[1] - planes_[0] < positions_[1];
  const size_t group = planes_inside ? planes_.size() / batches_ : 1;
  for (size_t first = 0; first < planes_.size(); first += group)
    for (size_t position = 0; position < positions_.size(); ++position)
      for (size_t plane = first; plane < first + group; ++plane)
        if (!visit(plane, position)) return false;
  return true;
}

void Lattice::for_each_offset(const std::function<void(int64_t)>& visit) const {
  walk([&](size_t plane, size_t position) {
    visit(planes_[plane] + positions_[position]);
    return true;
  });
}

void Lattice::scatter(std::span<const Plane> planes, const Chosen& chosen, std::byte* memory) const {
  std::vector<const uint64_t*> source;
  for (size_t i = 0; i < planes_.size(); ++i) source.push_back(planes[chosen(i)].data());
  with_width(width_, [&]<typename T>(T) {
    walk([&](size_t plane, size_t position) {
      const T value = static_cast<T>(source[plane][position]);
      std::memcpy(memory + (planes_[plane] + positions_[position]) * width_, &value, sizeof value);
      return true;
    });
  });
}

std::optional<Lattice::Difference> Lattice::compare(std::span<const Plane> planes, const Chosen& chosen,
                                                    const std::vector<int64_t>& plane_addend,
                                                    const Agrees& agrees, const std::byte* memory) const {
  std::vector<const uint64_t*> source;
  for (size_t i = 0; i < planes_.size(); ++i) source.push_back(planes[chosen(i)].data());
  std::optional<Difference> difference;
  with_width(width_, [&]<typename T>(T) {
    constexpr T none = static_cast<T>(-1);  // an index of no tap has no addend
    walk([&](size_t plane, size_t position) {
      T found, wanted = static_cast<T>(source[plane][position]);
      if (!plane_addend.empty() && wanted != none) wanted = static_cast<T>(wanted + T(plane_addend[plane]));
      std::memcpy(&found, memory + (planes_[plane] + positions_[position]) * width_, sizeof found);
      if (found == wanted || agrees(wanted, found)) return true;
      difference = {plane, position, wanted, found};
      return false;
    });
  });
  return difference;
}

}  // namespace pooljit::runtime
