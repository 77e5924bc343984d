#include "ir/schedules/lanes/slices.h"

#include <algorithm>
#include <bit>

#include "ir/schedules/lanes/lanes_apart.h"

namespace pooljit::ir {

Value load_channels(Builder& builder, const ReductionFacts& facts, Type type, const Address& address,
                    const Slice& slice, int64_t stride) {
  return load_lanes(builder, type, address, stride, slice.stored, facts.identity);
}

std::vector<Slice> slices(int64_t begin, int64_t end, int lanes, Tail tail) {
  std::vector<Slice> found;
  for (; begin + lanes <= end; begin += lanes) found.push_back({begin, lanes, {}});
  const int64_t rest = end - begin;
  if (rest == 0) return found;
  if (tail == Tail::overlap) {
    found.push_back({end - lanes, lanes, {}});
  } else if (tail == Tail::mask) {
    const int fitting = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(rest)));
    Slice slice{begin, fitting, std::vector<int64_t>(static_cast<size_t>(fitting), 0)};
    std::fill_n(slice.stored.begin(), rest, 1);
    if (rest == fitting) slice.stored.clear();
    found.push_back(slice);
  } else {
    const std::vector<Slice> smaller = slices(begin, end, lanes / 2, tail);
    found.insert(found.end(), smaller.begin(), smaller.end());
  }
  return found;
}

}  // namespace pooljit::ir
