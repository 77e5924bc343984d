// Strided lanes: which contiguous vectors to load so that, for each of some offsets o, the vector of elements
// o, o + stride, o + 2 stride, ... can be put together by shuffles; and those shuffles. Positions are
// relative to the first output's window.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/builder.h"

namespace pooljit::ir {

class StridedLanes {
 public:
  // cover: as few vectors as possible; any lane may come from anywhere (good where any two-vector shuffle is
  // one instruction). group: whole blocks of `stride` vectors, so that each extraction has one regular
  // pattern (good for bytes), and none for stride 1.
  enum class Style { cover, group };

  // No vector starts before position 0 or ends after the last position that the offsets need.
  StridedLanes(int lanes, int64_t stride, std::vector<int64_t> offsets, Style style);

  int lanes() const { return lanes_; }
  const std::vector<int64_t>& offsets() const { return offsets_; }
  // Position of the first element of each vector to load.
  const std::vector<int64_t>& starts() const { return starts_; }

  // Calls take(i, the vector of offsets()[i]) in order, from the loaded (or already reduced) vectors.
  using Take = std::function<void(size_t, Value)>;
  void extract(Builder& builder, const std::vector<Value>& vectors, const Take& take) const;

 private:
  struct Source {
    size_t vector;
    int64_t lane;
  };
  void cover();
  void group();
  Source find(int64_t position, int64_t not_before) const;
  std::vector<Source> sources(int64_t offset) const;
  Value gather(Builder& builder, const std::vector<Value>& vectors, const std::vector<Source>& lanes) const;

  int lanes_;
  int64_t stride_;
  std::vector<int64_t> offsets_;
  Style style_;
  int64_t span_;
  std::vector<int64_t> starts_;
  std::vector<size_t> first_vector_;  // group: where each offset's block begins in starts_
};

}  // namespace pooljit::ir
