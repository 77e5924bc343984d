#include <utility>

#include "ir/schedules/choose/facts.h"
#include "ir/schedules/families/row_passes_rules.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {

Offer offer_row_passes(const Layer& layer, size_t most) {
  const NestDim& given = layer.nest().dims.back();
  if (given.kind != DimKind::pool || given.stride != 1 || given.kernel < 2) return {};
  const bool are_few = given.kernel < 5 && !has_few_registers(layer);
  const auto left_to_registers = [] {
    return Offer{{}, "windows of few columns: channels_first takes them in registers"};
  };
  if (are_few && (layer.nest().is_extreme() || bytes(layer.nest().input.dtype) > 1))
    return left_to_registers();
  const PoolNest nest = as_rows(layer.nest());
  const Layer rows = layer.over(nest);
  if (!can_take_rows(nest, rows.facts(row_passes_lanes))) return {};
  const NestDim& row = nest.dims.back();
  Schedule schedule = schedule_of(Family::row_passes);
  using Scan = RowPassesFields::Scan;
  schedule.lanes = layer.fitting_lanes(row_passes_lanes, row.output);
  while (schedule.lanes > stretch_of(row, 0, row.output).inside && schedule.lanes > 1) schedule.lanes /= 2;
  schedule.tail = layer.can_mask() || row.output < schedule.lanes ? exact_tail(layer) : Tail::overlap;
  Facts facts(rows, row_passes_lanes, schedule.lanes);
  const Facts given_facts(layer, row_passes_lanes, schedule.lanes);
  facts.given = &given_facts;
  if (const auto better = facts.left(Question::row_passes_left); !better.empty()) return {{}, better};
  const bool rolls_sums = facts.says(Question::row_passes_sums);
  if (are_few && !rolls_sums) return left_to_registers();
  Offer offer;
  const auto add = [&](Scan scan, int64_t groups) {
    for (; groups > 0 && offer.schedules.size() < most; groups >>= 8) {
      schedule.own = RowPassesFields{.rows_together = static_cast<int>(groups & 0xff), .scan = scan};
      if (check(layer, schedule)) offer.schedules.push_back(schedule);
    }
  };
  if (rolls_sums) add(Scan::rolling_sums, order({1}));
  const bool rolls = facts.says(Question::row_passes_trailing);
  if (rolls && offer.schedules.size() < most) {
    const Tail tail = std::exchange(schedule.tail, exact_tail(layer));
    add(Scan::trailing, facts.answer(Question::row_passes_rolling_groups));
    schedule.tail = tail;
  }
  const bool passes = offer.schedules.size() < most && facts.says(Question::row_passes_passes);
  if (passes) add(Scan::passes, facts.answer(Question::row_passes_groups));
  if (offer.schedules.empty() && !rolls && !passes)
    offer.left = "what windows share costs less in registers than through scratch memory";
  return offer;
}

}  // namespace pooljit::ir
