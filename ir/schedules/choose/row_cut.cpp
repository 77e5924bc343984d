#include "ir/schedules/choose/row_cut.h"

#include <algorithm>
#include <bit>

#include "ir/schedules/lowering/row_family.h"
#include "ir/schedules/lowering/row_rules.h"

namespace pooljit::ir {

bool stores_whole_vectors(int64_t outputs, const RowChoice& cut) {
  return cut.tail != Tail::mask || outputs % cut.lanes == 0 ||
         std::has_single_bit(static_cast<uint64_t>(outputs % cut.lanes));
}

RowChoice cheapest_cut(const Facts& facts, int fitting) {
  const Layer& layer = facts.layer;
  const int64_t all = facts.row.output;
  const int64_t narrow = facts.answer(Question::cut_narrow);
  const int64_t single = std::max(narrow, facts.answer(Question::cut_single));
  const int64_t masked_store = facts.answer(Question::cut_masked);
  const Interior inside = interior(facts.row);
  const int64_t borders = facts.masks ? 0 : all - (inside.end - inside.begin);
  const auto tile = [&](int64_t lanes) { return lanes * facts.lane_bytes > 32 ? 200 : narrow; };
  const auto outputs_of = [&](const RowChoice& cut) {
    const bool fills = cut.tail == Tail::overlap && can_fill_borders(facts.nest, layer.isa(), cut.lanes);
    return fills ? all : all - borders;
  };
  const auto row = [&](const RowChoice& cut) {
    const int64_t outputs = outputs_of(cut);
    const int64_t whole = outputs / cut.lanes;
    const auto rest = static_cast<uint64_t>(outputs % cut.lanes);
    // One by one, what no vector takes.
    const int64_t cost = (all - outputs) * narrow + whole * tile(cut.lanes);
    if (rest == 0) return cost;
    if (cut.tail == Tail::overlap) return cost + tile(cut.lanes);
    if (cut.tail == Tail::split) return cost + std::popcount(rest) * narrow;
    const int64_t last = rest == 1 ? single : tile(static_cast<int64_t>(std::bit_ceil(rest)));
    return cost + last + (std::has_single_bit(rest) ? 0 : masked_store);
  };
  const Tail exact = exact_tail(layer);
  RowChoice best{fitting, exact};
  for (int lanes = fitting; lanes > 1 && lanes >= fitting / (facts.masks ? 2 : 4); lanes /= 2)
    for (const Tail tail : {exact, Tail::overlap}) {
      const int64_t outputs = outputs_of({lanes, tail});
      const bool ends_whole = outputs % lanes == 0 && outputs == all - borders;
      if (tail == Tail::overlap && (outputs < lanes || ends_whole)) continue;
      if (row({lanes, tail}) < row(best)) best = {lanes, tail};
    }
  return best;
}

}  // namespace pooljit::ir
