// Tensors of probes: planes scattered into strided memory, and compared with it.
#pragma once

#include <cstddef>
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

  // Whether several elements are in one place: planes cannot hold different ones there.
  bool repeats() const;

  // visit(offset of the first, how many): elements that lie next to each other.
  void for_each_stretch(const std::function<void(int64_t, int64_t)>& visit) const;

  // The elements: planes[chosen(plane)][position], and for indices that are not no_index, plus
  // addends[plane]. `plane` is n * channels + c.
  struct Content {
    std::span<const Plane> planes;
    std::function<size_t(size_t plane)> chosen;
    std::span<const int64_t> addends = {};
  };
  void scatter(const Content& content, std::byte* memory) const;

  // The first place with another element; agrees(difference) says which differences are allowed.
  struct Difference {
    size_t plane, position;
    uint64_t wanted, found;
  };
  using Agrees = std::function<bool(const Difference&)>;
  std::optional<Difference> compare(const Content& content, const Agrees& agrees,
                                    const std::byte* memory) const;

 private:
  // Elements next to each other in memory: of planes that follow each other, or of positions.
  struct Row {
    size_t plane, position;  // of the first
    int64_t offset;
  };
  template <typename Visit>
  bool for_each_row(const Visit& visit) const;
  // visit(row, what is to lie there, in elements of their type), until it returns false.
  template <typename Visit>
  void for_each_row(const Content& content, const Visit& visit) const;

  int64_t width_, span_ = 0;
  size_t batches_;
  std::vector<int64_t> planes_;     // offset of each plane
  std::vector<int64_t> positions_;  // offset of each position in a plane, row-major
  bool along_planes_ = false;
  size_t row_ = 1;  // elements
};

}  // namespace pooljit::runtime
