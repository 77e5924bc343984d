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

template <typename Byte, typename Visit>
void Lattice::walk(const Content& content, Byte* memory, const Visit& visit) const {
  std::vector<const uint64_t*> source;
  for (size_t i = 0; i < planes_.size(); ++i) source.push_back(content.planes[content.chosen(i)].data());
  with_width(width_, [&]<typename T>(T) {
    walk([&](size_t plane, size_t position) {
      auto value = static_cast<T>(source[plane][position]);
      if (!content.addends.empty() && value != static_cast<T>(no_index))
        value = static_cast<T>(value + static_cast<T>(content.addends[plane]));
      return visit(plane, position, value, memory + (planes_[plane] + positions_[position]) * width_);
    });
  });
}

void Lattice::scatter(const Content& content, std::byte* memory) const {
  walk(content, memory, [](size_t, size_t, auto value, std::byte* at) {
    std::memcpy(at, &value, sizeof value);
    return true;
  });
}

std::optional<Lattice::Difference> Lattice::compare(const Content& content, const Agrees& agrees,
                                                    const std::byte* memory) const {
  std::optional<Difference> difference;
  walk(content, memory, [&](size_t plane, size_t position, auto wanted, const std::byte* at) {
    auto found = wanted;
    std::memcpy(&found, at, sizeof found);
    if (found == wanted) return true;
    const Difference here = {plane, position, wanted, found};
    if (!agrees(here)) difference = here;
    return !difference;
  });
  return difference;
}

}  // namespace pooljit::runtime
