// Indexing: what the indices of an unpool mean in its output. It is made once from a nest, so that the loops
// of an unpool (runtime/unpool/lines.h) only compare, multiply and look up.
//
// The base of a plane is what its batch and channel add to an index; an index less its base is the rest. A
// rest is made of digits: of 3-D planes counted row by row, z * H * W + y * W + x.
#pragma once

#include <array>
#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/nest.h"

namespace pooljit::runtime {

inline constexpr size_t most_dims = 3;
using Coordinates = std::array<int64_t, most_dims>;

// Counts `extent` places, which lie `stride` elements apart, by rest / weight.
struct Digit {
  uint64_t weight = 1, extent = 1;
  int64_t stride = 0;
  uint64_t magic = 0;  // 2^64 / weight rounded up, where that gives all quotients; else 0

  uint64_t quotient(uint64_t rest) const {
    __extension__ using Wide = unsigned __int128;
    return magic != 0 ? static_cast<uint64_t>(Wide{rest} * magic >> 64) : rest / weight;
  }
};
using Digits = boost::container::static_vector<Digit, most_dims>;  // the largest weight first

// How a rest leads to an element: rest * factor; the sum of the digits' strides; or by a list of the window's
// taps.
enum class IndexForm : uint8_t { scaled, digits, listed };

struct Indexing {
  // Of an unpool.
  explicit Indexing(const ir::PoolNest& unpool);

  uint64_t base(int64_t n, int64_t c) const {
    return static_cast<uint64_t>(n * rule.batch + c * rule.channel);
  }
  // The place that the index of a window names; none if it lies outside the plane.
  std::optional<Coordinates> place(int64_t index, int64_t n, int64_t c, const Coordinates& window) const;

  ir::IndexRule rule;
  IndexForm form = IndexForm::scaled;
  uint64_t last = 0;   // the largest rest
  uint64_t unit = 1;   // every rest is a multiple of it
  int64_t factor = 1;  // scaled
  Digits digits;       // of a rest
  Digits plane;        // of the plane: as digits, unless these count in the window
  struct Tap {
    int64_t offset = 0;  // of the element from that of the window's origin
    Coordinates at{};    // the same as a position
  };
  std::vector<Tap> taps;  // of the window, by number, unless there are too many

 private:
  void list_taps();

  const ir::PoolNest& nest_;
};

}  // namespace pooljit::runtime
