// Provenance: winners that are joined by where they lie (ir/reductions/extreme.cpp, combine_indexed()).
//
// Both sequences have ascending indices, so of each the winner is the first of its largest, or its last NaN.
// The smaller index of two equal winners is then the first of the largest of both, and the larger one of two
// NaNs the last: the result is the winner of the sequences merged by index.
#include <algorithm>

#include "proof/program/provenance.h"

namespace pooljit::ir {

// a, b where the mask is a < b.
std::optional<std::pair<TermId, TermId>> Provenance::less(TermId mask) const {
  const LaneTerm& term = graph_[mask];
  const bool is_order = term.kind == LaneTerm::Kind::op && term.op == Op::cmp && !is_float(term.dtype) &&
                        (term.pred == Predicate::lt || term.pred == Predicate::gt);
  if (!is_order) return std::nullopt;
  const bool is_less = term.pred == Predicate::lt;
  return std::pair(term.args[is_less ? 0 : 1], term.args[is_less ? 1 : 0]);
}

bool Provenance::are_equal(TermId mask, TermId x, TermId y) const {
  const LaneTerm& term = graph_[mask];
  const auto has = [&](TermId a, TermId b) { return term.args[0] == a && term.args[1] == b; };
  return term.kind == LaneTerm::Kind::op && term.op == Op::cmp && term.pred == Predicate::eq &&
         (has(x, y) || has(y, x));
}

// x is a NaN, and y is none or has the smaller index.
bool Provenance::is_place_of_nan(TermId mask, const Wins& found) {
  const LaneTerm& both = graph_[mask];
  if (both.kind != LaneTerm::Kind::op || both.op != Op::and_) return false;
  for (const int i : {0, 1}) {
    const LaneTerm& beaten = graph_[both.args[1 - i]];
    if (nan_test(both.args[i]) != found.x || beaten.kind != LaneTerm::Kind::op || beaten.op != Op::or_)
      continue;
    for (const int j : {0, 1})
      if (are_equal(beaten.args[j], found.y, found.y) &&
          less(beaten.args[1 - j]) == std::pair(found.y_index, found.x_index))
        return true;
  }
  return false;
}

Provenance::Wins Provenance::place_wins(TermId mask) {
  std::vector<TermId> parts = {mask};
  for (size_t i = 0; i < parts.size();) {
    const LaneTerm& term = graph_[parts[i]];
    if (term.kind != LaneTerm::Kind::op || term.op != Op::or_) {
      ++i;
      continue;
    }
    parts[i] = term.args[0];
    parts.push_back(term.args[1]);
  }
  Wins found;
  for (const TermId part : parts)
    if (const Wins one = comparison(part); one.x != no_term) found = one;
  if (found.x == no_term || parts.size() > 3) return {};
  for (const TermId part : parts) {
    const LaneTerm& term = graph_[part];
    if (term.kind != LaneTerm::Kind::op || term.op != Op::and_) continue;
    for (const int i : {0, 1})
      if (const auto order = less(term.args[1 - i]); order && are_equal(term.args[i], found.x, found.y))
        found.x_index = order->first, found.y_index = order->second;
  }
  if (!found.by_place()) return {};
  found.nan_wins = std::ranges::any_of(parts, [&](TermId part) { return is_place_of_nan(part, found); });
  return parts.size() == (found.nan_wins ? 3 : 2) ? found : Wins{};
}

Sequence<Winner::Row> Provenance::merged(const Sequence<Winner::Row>& before,
                                         const Sequence<Winner::Row>& after) {
  for (const auto* part : {&before, &after})
    if (!std::ranges::is_sorted(*part, {}, &Winner::Row::index))
      throw Unreadable{"indices that decide between equal elements do not ascend"};
  std::vector<Winner::Row> all = before.copy();
  all.insert(all.end(), after.begin(), after.end());
  // "No element yet" counts only where it is the first: it is as large as the lowest element behind it.
  std::ranges::stable_sort(all, [](const Winner::Row& a, const Winner::Row& b) {
    return std::pair(a.index, a.element == -1) < std::pair(b.index, b.element == -1);
  });
  std::vector<Winner::Row> merged;
  for (const Winner::Row& row : all) {
    if (row.element == -1 && !merged.empty()) continue;
    const bool is_known = !merged.empty() && merged.back().index == row.index;
    if (is_known && merged.back().element == row.element) continue;  // an element that was taken in twice
    if (is_known && merged.back().element != -1) throw Unreadable{"two elements of one index"};
    merged.push_back(row);
  }
  return merged;
}

Joined Provenance::joined_by_place(const Wins& found) {
  const Joined &x = value(found.x), &y = value(found.y);
  Joined joined = x.elements.empty() ? y : joined_by(found, x, y);  // a constant is no NaN
  std::vector<int64_t> elements;
  for (const Winner::Row& row : merged(found))
    if (row.element != -1) elements.push_back(row.element);
  joined.elements = std::move(elements);
  return joined;
}

}  // namespace pooljit::ir
