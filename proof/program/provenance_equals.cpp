// Provenance: winners that are found by equality (ir/reductions/extreme.cpp, joined_by_equality() of
// ir/schedules/families/window_rows_lanes.h). Of integers only: equal ones have equal bits, none is a NaN.
//
// Let x be the best of some elements of a window, and best that of all. Where x equals best, x's index is
// that of the first of the largest among x's elements; elsewhere a number that no index exceeds stands for
// it. The least of such indices, of parts that are all elements together, is that of the first of the largest
// of all.
#include <algorithm>

#include "proof/program/provenance.h"

namespace pooljit::ir {

// Each once, sorted; what stands for no element left out.
std::vector<int64_t> Provenance::distinct(std::vector<int64_t> elements) {
  std::erase_if(elements, [](int64_t element) { return element < 0; });
  std::ranges::sort(elements);
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
  return elements;
}

bool Provenance::are_of(const Sequence<Winner::Row>& rows, const Joined& value) {
  std::vector<int64_t> elements;
  for (const Winner::Row& row : rows) elements.push_back(row.element);
  return distinct(std::move(elements)) == distinct(value.elements.copy());
}

// x, y of a mask that compares y with the best or the worst of both: x wins where they are not equal.
// Equality does not depend on signs.
Provenance::Wins Provenance::equality(const LaneTerm& mask) const {
  for (const int i : {0, 1}) {
    const TermId y = mask.args[1 - i];
    const LaneTerm& both = graph_[mask.args[i]];
    if (both.kind != LaneTerm::Kind::op || (both.op != Op::max && both.op != Op::min)) continue;
    if (is_float(both.dtype) || bytes(both.dtype) != bytes(mask.dtype)) continue;
    if (both.args[0] != y && both.args[1] != y) continue;
    const TermId other = both.args[both.args[0] == y ? 1 : 0];
    return is_pick(both) ? Wins{other, y} : Wins{y, other};
  }
  return {};
}

// x, y where the mask says that x does not win over y.
Provenance::Wins Provenance::kept(TermId id) const {
  const LaneTerm& mask = graph_[id];
  if (mask.kind != LaneTerm::Kind::op || mask.op != Op::cmp || is_float(mask.dtype)) return {};
  if (mask.pred == (is_max_ ? Predicate::le : Predicate::ge)) return {mask.args[0], mask.args[1]};
  if (mask.pred == (is_max_ ? Predicate::ge : Predicate::le)) return {mask.args[1], mask.args[0]};
  return mask.pred == Predicate::eq ? equality(mask) : Wins{};
}

// A choice between an index, where a value is the best, and a constant.
Provenance::Candidates Provenance::if_best(const LaneTerm& term) {
  const LaneTerm& mask = graph_[term.args[0]];
  const bool is_equality = mask.kind == LaneTerm::Kind::op && mask.op == Op::cmp && !is_float(mask.dtype) &&
                           mask.pred == Predicate::eq && graph_.is_constant(term.args[2]);
  if (!is_equality) throw Unreadable{"the least of indices that are not chosen by equality"};
  TermId x = mask.args[0], best = mask.args[1];
  if (distinct(value(x).elements.copy()).size() > distinct(value(best).elements.copy()).size())
    std::swap(x, best);
  const auto is_compared = [&](TermId id) { return bytes(value(id).dtype) == bytes(mask.dtype); };
  if (value(x).dtype != value(best).dtype || !is_compared(x))
    throw Unreadable{"a comparison of elements as another type than theirs"};
  return {rows(term.args[1], x), best, graph_[term.args[2]].imm};
}

Provenance::Candidates Provenance::least(const LaneTerm& term) {
  const Candidates a = candidates(term.args[0]), b = candidates(term.args[1]);
  if (a.best != b.best) throw Unreadable{"the least of indices of two maxima"};
  Candidates joined{merged(a.rows, b.rows), a.best, std::min(a.none, b.none)};
  if (std::ranges::any_of(joined.rows, [&](const Winner::Row& row) { return row.index > joined.none; }))
    throw Unreadable{"an index beyond what stands for none"};
  return joined;
}

Provenance::Candidates Provenance::candidates(TermId id) {
  const LaneTerm& term = graph_[id];
  if (term.kind == LaneTerm::Kind::op && term.op == Op::min) return least(term);
  if (term.kind == LaneTerm::Kind::op && term.op == Op::select) return if_best(term);
  throw Unreadable{"the least of indices that are not chosen by equality"};
}

Winner Provenance::first_of_best(const LaneTerm& term) {
  const Candidates all = least(term);
  if (!are_of(all.rows, value(all.best))) throw Unreadable{"an index that goes with another value"};
  return {all.rows, Nans::never};
}

// The largest of y's index and of one that is 0 where the mask says that x does not win over y, and x's index
// elsewhere: a choice between both, if no index of x is below one of y.
std::optional<Winner> Provenance::largest_of_kept(const LaneTerm& term) {
  if (term.op != Op::max || is_float(term.dtype) || is_signed_int(term.dtype)) return {};
  for (const int i : {0, 1}) {
    const LaneTerm& later = graph_[term.args[i]];
    if (later.kind != LaneTerm::Kind::op || later.op != Op::select) continue;
    if (!graph_.is_constant(later.args[1]) || graph_[later.args[1]].imm != 0) continue;
    const Wins found = kept(later.args[0]);
    if (found.x == no_term) continue;
    const TermId index_of_x = later.args[2], index_of_y = term.args[1 - i];
    int64_t most = 0;
    for (const Winner::Row& row : rows(index_of_y, found.y)) most = std::max(most, row.index);
    for (const Winner::Row& row : rows(index_of_x, found.x))
      if (row.index < most) throw Unreadable{"the largest of indices that do not ascend"};
    return of_later(found, index_of_x, index_of_y);
  }
  return {};
}

}  // namespace pooljit::ir
