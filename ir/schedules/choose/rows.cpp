#include "ir/schedules/choose/rows.h"

#include "ir/schedules/choose/facts.h"

namespace pooljit::ir {
namespace {

int best_beside(const Facts& facts) {
  const auto most = static_cast<int>(facts.answer(Question::most_beside));
  const int least = facts.short_sums() && !facts.few_registers ? most : 2;
  for (int beside = most; beside > 1 && beside >= least; --beside)
    if (facts.rolls_row(facts.lanes, beside)) return beside;
  return 1;
}

}  // namespace

SideBySide best_side_by_side(const Layer& layer, int lanes) {
  Facts facts(layer, LaneUse::moved, lanes);
  const int beside = best_beside(facts);
  if (beside > 1 || facts.few_registers || facts.short_sums()) return {lanes, beside};
  // Narrower ones reach over windows that one vector and the next do not.
  const int64_t narrower = facts.answer(Question::narrower_beside);
  const bool rolls = facts.rolls_row(lanes, 1);
  for (facts.lanes = lanes / 2; facts.lanes * facts.lane_bytes >= 16; facts.lanes /= 2) {
    if (rolls && facts.lanes != narrower) break;
    if (const int vectors = best_beside(facts); vectors > 1) return {facts.lanes, vectors};
  }
  return {lanes, 1};
}

}  // namespace pooljit::ir
