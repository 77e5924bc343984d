#include <algorithm>
#include <vector>

#include "ir/schedules/choose/facts.h"
#include "ir/schedules/families/whole_planes_tiles.h"

namespace pooljit::ir {
namespace {

// Whether straight-line code of the plane pays.
bool pays(Facts& facts, const Schedule& schedule) {
  const PlaneTiles tiles(facts.layer, schedule);
  facts.lanes = schedule.lanes;
  facts.pairs = tiles.pairs();
  return tiles.work() <= facts.answer(Question::whole_planes_work) &&
         tiles.most_line_vectors() < facts.answer(Question::whole_planes_lines);
}

// Best first.
std::vector<int> lanes_of(const Facts& facts) {
  std::vector<int> lanes = {facts.lanes};
  const auto pairs = static_cast<int>(facts.answer(Question::whole_planes_pairs));
  if (pairs > 0 && plane_pairs(facts.layer, pairs)) lanes.insert(lanes.begin(), pairs);
  const int widest = facts.fitting(facts.outputs());
  if (widest != facts.lanes && facts.says(Question::whole_planes_widest)) lanes.push_back(widest);
  return lanes;
}

}  // namespace

Offer offer_whole_planes(const Layer& layer, size_t most) {
  const PoolNest& nest = layer.nest();
  // Planes that the family cannot do are none whose rows we may ask about.
  const auto is_pool = [](const NestDim& dim) { return dim.kind == DimKind::pool; };
  if (nest.dims.size() != 2 || nest.is_backward() || nest.indices || !std::ranges::all_of(nest.dims, is_pool))
    return {};
  Facts facts(layer, whole_planes_family.lanes, 1);
  facts.lanes = static_cast<int>(facts.answer(Question::whole_planes_lanes));
  if (const auto better = facts.left(Question::whole_planes_left); !better.empty()) return {{}, better};
  Offer offer;
  bool is_long = false;
  Schedule schedule = schedule_of(Family::whole_planes);
  // Whole vectors are stored faster than masked ones, but then tiles do not end where rows do, which costs
  // shuffles of more vectors. A mask takes 0.92 of the time in the mean of 149 layers on three machines.
  for (const int lanes : lanes_of(facts))
    for (const Tail tail : {Tail::mask, Tail::overlap}) {
      if (offer.schedules.size() >= most) break;
      schedule.lanes = lanes;
      schedule.tail = tail;
      if (!check(layer, schedule)) continue;
      if (pays(facts, schedule))
        offer.schedules.push_back(schedule);
      else
        is_long = true;
    }
  if (offer.schedules.empty() && is_long)
    offer.left = "straight-line code of the whole plane would be too long";
  return offer;
}

}  // namespace pooljit::ir
