// Zeros: fills some channels of one batch with zeros, a little ahead of the values that are put there, so
// that a place is still in a core's own cache when its value comes.
#pragma once

#include <array>
#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <cstdint>

#include "runtime/unpool/indexing.h"

namespace pooljit::runtime {

class Zeros {
 public:
  // plane: how its places are counted. first: the first channel's first element; the next channel's is
  // channel_stride elements on. width: bytes of an element.
  Zeros(const Digits& plane, std::byte* first, int64_t channels, int64_t channel_stride, int64_t width);

  // Of the largest digit: all places whose digit is less are filled.
  uint64_t done() const { return done_; }
  // Fills up to this digit's value and, as memory is filled best, some more. False: there is no such place.
  bool fill(uint64_t digit);
  void fill_all() {
    step_ = plane_[0].extent;
    fill(plane_[0].extent - 1);
  }
  int64_t bytes() const { return static_cast<int64_t>(plane_[0].extent) * digit_bytes_; }

 private:
  struct Side {
    int64_t extent, stride;
  };
  using Sides = boost::container::static_vector<Side, most_dims + 1>;  // the longest stride first
  static void put(Side side, Sides& sides);
  void fill(uint64_t begin, uint64_t end) const;

  const Digits& plane_;
  std::byte* const first_;
  const int64_t width_;
  Sides inner_;            // all but the largest digit, and the channels
  bool is_dense_ = false;  // what one value of the largest digit counts lies in one piece
  int64_t digit_bytes_;    // that one value of it counts
  uint64_t step_ = 1;      // that are filled at least
  uint64_t done_ = 0;
};

}  // namespace pooljit::runtime
