#include "ir/schedules/space.h"

#include <algorithm>

#include "ir/schedules/family.h"

namespace pooljit::ir {

std::vector<Schedule> schedule_space(const PoolNest& nest, Isa isa) {
  std::vector<Schedule> space;
  if (!nest.members.empty()) {
    std::vector<std::vector<Schedule>> of_members;
    for (const PoolNest& member : nest.members) of_members.push_back(schedule_space(member, isa));
    space = side_by_side(of_members, SIZE_MAX);
    const size_t each = space.size();
    for (size_t i = 0; i < each; ++i) space.push_back(space[i]), space.back().fused = true;
    return space;
  }
  const auto layer = Layer::of(nest, isa);
  if (!layer) return space;
  for (const Family family : all_families) {
    const Knobs knobs = info(family).knobs(*layer);
    for (int lanes = layer->most_lanes(info(family).lanes); lanes >= 1; lanes /= 2)
      for (const int unroll : knobs.unroll)
        for (const Order order : knobs.order)
          for (const Taps taps : knobs.taps)
            for (const Tail tail : knobs.tail)
              space.push_back({family, lanes, unroll, tail, taps, order, Stores::cached});
  }
  return space;
}

std::vector<Schedule> side_by_side(std::span<const std::vector<Schedule>> of_members, size_t most) {
  size_t longest = 0;
  for (const auto& own : of_members) longest = std::max(longest, own.size());
  std::vector<Schedule> all(std::min(longest, most));
  for (size_t i = 0; i < all.size(); ++i)
    for (const auto& own : of_members) all[i].members.push_back(own[i < own.size() ? i : 0]);
  return all;
}

}  // namespace pooljit::ir
