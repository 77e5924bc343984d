#include "ir/schedules/lanes/lanes_apart.h"

#include <algorithm>

#include "ir/schedule_fields.h"
#include "ir/schedules/choose/offers.h"
#include "ir/schedules/families/window_rows.h"

namespace pooljit::ir {
namespace {

// Channels that lie nearer than some of a window's taps: a window's lines are their windows', too.
bool are_channels_nearer(const PoolNest& nest) {
  for (size_t d = 0; d < nest.dims.size(); ++d)
    if (nest.dims[d].most_taps() > 1 && channel_stride(nest.input) < nest.input.strides[d])
      return nest.channels > 1;
  return false;
}

}  // namespace

double least_gain(const PoolNest& nest, const Schedule& schedule) {
  // On a Zen 5 and a Xeon. Bytes and halves that AVX2 loads one by one: predicted gains of 1.1 to 1.6 were
  // 1.32 in the mean of 69 layers, four of them below 0.93; gains of 1 to 1.05 were 0.9 to 1.05.
  constexpr double of_vectors = 1.1;
  // The lines that a vector touches are read once for each neighbour that lies nearer than its lanes: a gain
  // of 1.9 was 0.5 to 0.9.
  constexpr double of_far_lanes = 2.5;
  // Taps of windows whose channels lie nearer than their rows: gains of 3.0 and 3.1 were 0.6 and 0.8. Where
  // places are kept, 1.05 was 0.83.
  constexpr double of_far_rows = 4, of_places = 1.1;
  const bool are_taps = schedule.family() == Family::window_rows;
  if (!holds_lanes_apart(nest, schedule))
    return are_taps && has_places(nest) && !nest.indices ? of_places : 1;
  const int64_t channels = channel_stride(nest.input), columns = nest.input.strides.back();
  if (are_taps && are_channels_nearer(nest)) return of_far_rows;
  const bool is_row = schedule.family() != Family::channels_last;
  const bool are_both = nest.channels > 1 && nest.dims.back().output > 1;
  if (are_both && (is_row ? channels < columns : columns < channels)) return of_far_lanes;
  return of_vectors;
}

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
  add(window_rows_schedules(layer));
  if (!has_vector_columns(nest) || nest.dims.back().output == 1) return found;
  std::vector<Schedule> rows = channels_first_schedules(layer, few);
  // Vectors that are many loads are shared by the rows below.
  for (size_t i = rows.size(); i-- > 0;) {
    const auto rolling = as_rolling(rows[i], 1);
    if (rolling && check(layer, *rolling) && std::ranges::find(rows, *rolling) == rows.end())
      rows.push_back(*rolling);
  }
  add(rows);
  return found;
}

}  // namespace pooljit::ir
