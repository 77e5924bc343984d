#include "ir/schedules/lanes/lanes_apart.h"

#include "ir/schedules/choose/offers.h"

namespace pooljit::ir {

std::vector<Schedule> offer_lanes_apart(const Layer& layer) {
  constexpr size_t few = 2;
  const PoolNest& nest = layer.nest();
  std::vector<Schedule> found;
  const auto add = [&](const std::vector<Schedule>& schedules) {
    for (const Schedule& one : schedules)
      if (holds_lanes_apart(nest, one)) found.push_back(one);
  };
  const int lanes = layer.fitting_lanes(channels_last_family.lanes, vector_channels(nest));
  for (int some = lanes; some > 1 && 4 * some > lanes; some /= 2)
    add(channels_last_schedules(layer, some, few));
  // Of pixels whose channels lie nearer to each other, columns would be read from memory once a channel: 0.5
  // of one lane's speed.
  const bool are_pixels = nest.channels > 1 && nest.input.channel_stride < nest.input.strides.back();
  if (has_vector_columns(nest) && !are_pixels) add(channels_first_schedules(layer, few));
  return found;
}

}  // namespace pooljit::ir
