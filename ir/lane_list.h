// LaneList: numbers of lanes, as a shuffle takes them. Lists are made by the dozen and read once, so one as
// long as a register is stored inline.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <numeric>
#include <span>

namespace pooljit::ir {

struct LaneList : boost::container::small_vector<int64_t, 64> {
  using small_vector::small_vector;
  operator std::span<const int64_t>() const { return {data(), size()}; }
};

// begin, begin + 1, ...
inline LaneList lanes_from(int64_t begin, int64_t count) {
  LaneList list(static_cast<size_t>(count), boost::container::default_init);
  std::iota(list.begin(), list.end(), begin);
  return list;
}

}  // namespace pooljit::ir
