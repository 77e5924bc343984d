#include "ir/schedules/lanes/lane_gather.h"

#include <algorithm>

namespace pooljit::ir {

// One shuffle for each vector after the first; lanes that are not placed yet keep their place.
Value gather_lanes(Builder& builder, const std::vector<Value>& vectors, int width,
                   std::span<const LaneSource> wanted) {
  InlineList<size_t, 8> used;
  for (const LaneSource& source : wanted)
    if (source.vector != LaneSource::nowhere &&
        std::find(used.begin(), used.end(), source.vector) == used.end())
      used.push_back(source.vector);
  const auto lanes = static_cast<int64_t>(wanted.size());
  // Lanes of the vectors' own count from the sides on, others keep their place.
  const auto lanes_from = [&](size_t first, int64_t side, size_t second, int64_t second_side) {
    LaneList list(wanted.size(), boost::container::default_init);
    for (size_t lane = 0; lane < wanted.size(); ++lane) {
      const LaneSource& source = wanted[lane];
      list[lane] = source.vector == first    ? side + source.lane
                   : source.vector == second ? second_side + source.lane
                                             : static_cast<int64_t>(lane) % width;
    }
    return list;
  };
  constexpr size_t no_vector = LaneSource::nowhere - 1;
  if (used.size() == 1) {
    bool identity = width == lanes;
    for (size_t lane = 0; identity && lane < wanted.size(); ++lane)
      identity =
          wanted[lane].vector == LaneSource::nowhere || wanted[lane].lane == static_cast<int64_t>(lane);
    if (identity) return vectors[used[0]];
    return builder.shuffle(vectors[used[0]], no_value, lanes_from(used[0], 0, no_vector, 0));
  }
  Value result = builder.shuffle(vectors[used[0]], vectors[used[1]], lanes_from(used[0], 0, used[1], width));
  for (size_t i = 2; i < used.size(); ++i)
    result = builder.shuffle(result, vectors[used[i]], lanes_from(used[i], lanes, no_vector, 0));
  return result;
}

Value following_lanes(Builder& builder, Value a, Value b, int64_t first, int count) {
  return builder.shuffle(a, b, lanes_from(first, count));
}

}  // namespace pooljit::ir
