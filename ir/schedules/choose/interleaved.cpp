#include <algorithm>
#include <vector>

#include "ir/schedules/choose/facts.h"
#include "ir/schedules/lanes/pixel_rows.h"
#include "ir/schedules/lowering/pieces.h"

namespace pooljit::ir {

namespace {

// Code for all sizes: so many taps, none of which windows share, that separable takes less time, whose
// vectors are mostly empty.
bool are_taps_better_shared(Facts& facts, const RowFields& rows, int lanes) {
  const Layer& layer = facts.layer;
  const PoolNest& nest = facts.nest;
  const bool is_separable = nest.dims.size() > 1 && has_pieces(nest.dims.back()) &&
                            has_pieces(*(nest.dims.end() - 2)) && layer.facts(LaneUse::fixed).any_order;
  if (!is_separable || rows.scan == RowFields::Scan::rolling) return false;
  facts.is_in_place = rows.scan == RowFields::Scan::tap_by_tap;
  facts.lanes = lanes;
  return nest.full_taps() > facts.answer(Question::interleaved_taps);
}

}  // namespace

// The schedules of channels_first for the rows of pixels.
Offer offer_interleaved(const Layer& layer, size_t most) {
  const bool is_for_any = layer.nest().has_any_size();
  if (!has_pixel_rows(layer.nest()) || (is_for_any && !has_pixel_rows_of_any_size(layer.nest()))) return {};
  Facts facts(layer, LaneUse::fixed, 1);
  if (const auto better = facts.left(Question::interleaved_left); !better.empty()) return {{}, better};
  const PoolNest rows = as_one_channel(layer.nest());
  Offer offer = offer_channels_first(layer.over(rows), most);
  for (Schedule& schedule : offer.schedules)
    schedule.own = InterleavedFields{std::get<ChannelsFirstFields>(schedule.own)};
  if (is_for_any && !offer.schedules.empty()) {
    const Schedule& best = offer.schedules.front();
    if (are_taps_better_shared(facts, *row_fields(best), best.lanes))
      return {{}, "windows of many taps, which do not roll: separable"};
  }
  if (!is_for_any && !offer.schedules.empty() && facts.says(Question::interleaved_rolls)) {
    Schedule rolling = offer.schedules.front();
    rolling.own = InterleavedFields{{.scan = RowFields::Scan::rolling}};
    std::erase(offer.schedules, rolling);
    if (check(layer, rolling)) offer.schedules.insert(offer.schedules.begin(), rolling);
    offer.schedules.resize(std::min(offer.schedules.size(), most));
  }
  return offer;
}

}  // namespace pooljit::ir
