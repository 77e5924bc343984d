#include "ir/schedules/choose/facts.h"

namespace pooljit::ir {

Offer offer_whole_pixels(const Layer& layer, size_t most) {
  using Along = WholePixelsFields::Along;
  Schedule schedule = schedule_of(Family::whole_pixels);
  schedule.lanes = layer.fitting_lanes(LaneUse::fixed, layer.adjacent_channels());
  schedule.tail = exact_tail(layer);
  const Facts facts(layer, LaneUse::fixed, schedule.lanes);
  if (const auto better = facts.left(Question::whole_pixels_left); !better.empty()) return {{}, better};
  const bool down = facts.says(Question::whole_pixels_down);
  Offer offer;
  for (const Along along : {down ? Along::column : Along::row, down ? Along::row : Along::column}) {
    if (along == Along::column && facts.is_row()) continue;
    for (int64_t order = facts.answer(Question::whole_pixels_vectors); order > 0; order >>= 8) {
      schedule.own =
          WholePixelsFields{.vectors_side_by_side = static_cast<int>(order & 0xff), .pixels_along = along};
      if (!check(layer, schedule)) continue;
      offer.schedules.push_back(schedule);
      if (offer.schedules.size() == most) return offer;
    }
  }
  return offer;
}

}  // namespace pooljit::ir
