#include "ir/schedules/lanes/lanes_apart.h"

#include <algorithm>

#include "ir/schedule_fields.h"
#include "ir/schedules/choose/facts.h"
#include "ir/schedules/families/window_rows.h"

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
  for (int some = lanes; some > 1 && 4 * some > lanes; some /= 2) {
    Facts facts(layer, channels_last_family.lanes, some);
    add(channels_last_schedules(facts, few));
  }
  add(window_rows_schedules(layer));
  if (!has_vector_columns(nest) || nest.dims.back().output == 1) return found;
  Facts facts(layer, channels_first_family.lanes, 1);
  std::vector<Schedule> rows = channels_first_schedules(facts, few);
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
