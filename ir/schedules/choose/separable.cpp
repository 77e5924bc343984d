#include <initializer_list>

#include "ir/schedules/choose/facts.h"
#include "ir/schedules/lanes/channel_blocks.h"

namespace pooljit::ir {
namespace {

constexpr std::string_view shares_too_little = "windows share too little for scratch memory to pay";

bool has_windows_for_it(const PoolNest& nest) {
  const auto overlaps = [](const NestDim& dim) {
    return dim.kind == DimKind::pool && dim.stride == 1 && dim.dilation == 1 && dim.kernel > 1;
  };
  const size_t rank = nest.dims.size();
  return rank >= 2 && overlaps(nest.dims[rank - 1]) && overlaps(nest.dims[rank - 2]) && !nest.indices &&
         !nest.is_backward();
}

// Of all sizes. channels_last does not roll over longer rows at all.
Offer offer_pieces(const Facts& facts, Schedule schedule) {
  if (facts.says(Question::separable_any_size)) return {{}, shares_too_little};
  Offer offer;
  for (const int beside : {4, 2, 1}) {
    schedule.own = SeparableFields{.vectors_side_by_side = beside, .scan = SeparableFields::Scan::van_herk};
    if ((beside == 1 || beside < 2 * facts.vectors()) && check(facts.layer, schedule))
      offer.schedules.push_back(schedule);
  }
  return offer;
}

}  // namespace

Offer offer_separable(const Layer& layer, size_t most) {
  constexpr LaneUse use = LaneUse::fixed;
  if (!has_windows_for_it(layer.nest()) || !layer.facts(use).any_order) return {};
  Schedule schedule = schedule_of(Family::separable);
  schedule.lanes = layer.fitting_lanes(use, layer.adjacent_channels());
  schedule.tail = exact_tail(layer);
  const Facts facts(layer, use, schedule.lanes);
  if (layer.nest().has_any_size()) return offer_pieces(facts, schedule);
  const bool few_long = facts.says(Question::separable_few_long);
  const bool meet = facts.says(Question::separable_meet);
  if (!meet && !few_long && !facts.says(Question::separable_wins))
    if (const auto better = facts.left(Question::separable_left); !better.empty()) return {{}, better};
  if (facts.says(Question::separable_small)) return {{}, shares_too_little};
  Offer offer;
  using Scan = SeparableFields::Scan;
  // Bytes of a window's rows that have to stay near the core meanwhile.
  const int64_t lines_bytes =
      (facts.row.output + facts.kernel - 1) * facts.kernel * schedule.lanes * facts.reduction.held_bytes;
  const int64_t most_lines_bytes = facts.answer(Question::separable_lines);
  const auto add = [&](Scan scan, std::initializer_list<int> numbers) {
    for (const int beside : numbers) {
      schedule.own = SeparableFields{.vectors_side_by_side = beside, .scan = scan};
      if (offer.schedules.size() >= most || (beside > 1 && beside >= 2 * facts.vectors())) continue;
      if (scan == Scan::van_herk && beside > 1 && lines_bytes * beside > most_lines_bytes) continue;
      if (check(layer, schedule)) offer.schedules.push_back(schedule);
    }
  };
  // Several vectors at once hide what one waits for its own results.
  if (facts.few_registers && facts.is_f32) {
    add(Scan::rolling, {4, 2});
    add(Scan::van_herk, {4, 2});
    add(Scan::rolling, {1});
    add(Scan::van_herk, {1});
    return offer;
  }
  const bool herks = facts.says(Question::separable_herk);
  if (meet && few_long) add(Scan::van_herk, {8});
  // Windows of 4 and 6 roll in fewer registers: two vectors of them side by side are as fast.
  if (herks && !meet && facts.kernel % 2 == 0) add(Scan::rolling, {4, 2});
  add(herks ? Scan::van_herk : Scan::rolling, {4, 2, 1});
  add(herks ? Scan::rolling : Scan::van_herk, {4, 2, 1});
  return offer;
}

}  // namespace pooljit::ir
