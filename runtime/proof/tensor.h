// Tensors of probes: planes scattered into strided memory, and compared with it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ir/nest.h"
#include "runtime/proof/probes.h"

namespace pooljit::runtime {

// Where the elements of a view lie, in elements from its first.
class Lattice {
 public:
  Lattice(const ir::PoolNest& nest, const ir::View& view, int64_t batch, int64_t ir::NestDim::*extent);

  int64_t span() const { return span_; }  // elements from the first to behind the last
  int64_t width() const { return width_; }
  int64_t batches() const { return int64_t(batches_); }
  size_t planes() const { return planes_.size(); }
  size_t positions() const { return positions_.size(); }

  // Each element's offset.
  void for_each_offset(const std::function<void(int64_t)>& visit) const;

  // What is to lie where: planes[chosen(plane)][position], and to indices that are no no_index,
  // addends[plane]. `plane` is n * channels + c.
  struct Content {
    std::span<const Plane> planes;
    std::function<size_t(size_t plane)> chosen;
    std::span<const int64_t> addends = {};
  };
  void scatter(const Content& content, std::byte* memory) const;

  // The first place where something else lies; agrees(difference) says what may.
  struct Difference {
    size_t plane, position;
    uint64_t wanted, found;
  };
  using Agrees = std::function<bool(const Difference&)>;
  std::optional<Difference> compare(const Content& content, const Agrees& agrees,
                                    const std::byte* memory) const;

 private:
  template <typename Visit>
  bool walk(const Visit& visit) const;
  // visit(plane, position, element that is to lie there, its memory), in elements of their type.
  template <typename Byte, typename Visit>
  void walk(const Content& content, Byte* memory, const Visit& visit) const;

  int64_t width_, span_ = 0;
  size_t batches_;
  std::vector<int64_t> planes_;     // offset of each plane
  std::vector<int64_t> positions_;  // offset of each position in a plane, row-major
};

}  // namespace pooljit::runtime
