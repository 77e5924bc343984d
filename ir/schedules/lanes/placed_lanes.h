// Placed lanes: given lists of positions, finds the contiguous vectors to load and the shuffles that make,
// for each list, the vector of the elements at its positions. The lists of an ordinary pooling are o, o +
// stride, o + 2 stride, ...; those of adaptive windows and of backward passes are less regular.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "ir/schedules/lanes/lane_gather.h"

namespace pooljit::ir {

class PlacedLanes {
 public:
  // A position for each lane, at least 0. `anything`: the lane is not looked at.
  using List = std::vector<int64_t>;
  static constexpr int64_t anything = std::numeric_limits<int64_t>::min();

  // cover: as few vectors as possible; any lane may come from anywhere (good where any two-vector shuffle is
  // one instruction). group: for lists of one stride, whole blocks of `stride` vectors, so that each
  // extraction has one regular pattern (good for bytes), and none for stride 1.
  enum class Style { cover, group };

  // Each list has a lane that is looked at.
  PlacedLanes(std::vector<List> lists, Style style);
  // Lists o, o + stride, o + 2 stride, ... for each offset o.
  static std::vector<List> strided(int lanes, int64_t stride, const std::vector<int64_t>& offsets);

  const std::vector<List>& lists() const { return lists_; }
  // Position of the first element of each vector to load, and how many elements each has. No vector begins
  // before position 0 or ends after the last position that is needed.
  const std::vector<int64_t>& starts() const { return starts_; }
  int width() const { return width_; }
  // True if there is one vector to load, and it is the first list as it is.
  bool is_as_loaded() const;

  // Calls take(i, the vector of lists()[i]) in order, from the loaded (or already reduced) vectors.
  using Take = std::function<void(size_t, Value)>;
  void extract(Builder& builder, const std::vector<Value>& vectors, const Take& take) const;

  // The same, one list at a time.
  class Extraction {
   public:
    Extraction(const PlacedLanes& lanes, Builder& builder, std::vector<Value> vectors)
        : lanes_(lanes), builder_(builder), vectors_(std::move(vectors)) {}
    Value next();

   private:
    const PlacedLanes& lanes_;
    Builder& builder_;
    const std::vector<Value> vectors_;
    std::vector<Value> extracted_;
  };

 private:
  static constexpr size_t nowhere = std::numeric_limits<size_t>::max();
  int64_t stride_of(const List& list) const;
  int64_t common_stride() const;
  void cover();
  void group(int64_t stride);
  LaneSource find(int64_t position, size_t not_before) const;
  using Sources = boost::container::small_vector<LaneSource, 64>;
  Sources sources(size_t list) const;
  size_t one_lane_before(size_t list) const;

  std::vector<List> lists_;
  int lanes_, width_;
  bool grouped_ = false;
  int64_t span_ = 0;  // behind the last position that is needed
  std::vector<int64_t> starts_;
  std::vector<size_t> first_vector_;  // group: where each list's block begins in starts_
};

}  // namespace pooljit::ir
