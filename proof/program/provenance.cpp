#include "proof/program/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/float_format.h"

namespace pooljit::ir {

int64_t identity_bits(DType dtype, bool is_max) {
  if (is_float(dtype))
    return lane_bits(dtype, static_cast<int64_t>(infinity_bits(dtype) | (is_max ? sign_bit(dtype) : 0)));
  if (!is_signed_int(dtype)) return is_max ? 0 : lane_bits(dtype, -1);
  const int64_t lowest = std::numeric_limits<int64_t>::min() >> (64 - info(dtype).bits);
  return is_max ? lowest : ~lowest;
}

const Joined& Provenance::value(TermId id) {
  return values_.of(id, [this](TermId one) { return read_value(one); });
}

Joined Provenance::read_value(TermId id) {
  const LaneTerm& term = graph_[id];
  switch (term.kind) {
    case LaneTerm::Kind::constant:
      return constant_value(term);
    case LaneTerm::Kind::input:
      if (term.buffer != 0) throw Unreadable{"an element of another tensor than the input"};
      return {{term.imm}, is_float(term.dtype) ? Nans::kept : Nans::never, term.dtype};
    case LaneTerm::Kind::pack:
      if (const auto joined = put_together(id)) return *joined;
      throw Unreadable{"an element that is put together from bytes of others"};
    case LaneTerm::Kind::op:
      break;
  }
  if (const auto half = rounded(id)) return *half;
  if (term.op == Op::cvt) return converted(term);
  if (const auto key = as_key(term)) return *key;
  if (is_pick(term)) return picked(term);
  if (term.op == Op::select) return selected(term);
  throw Unreadable{fmt::format("{} of input elements", info(term.op).text)};
}

// A constant takes part as no element if no element is beyond it.
Joined Provenance::constant_value(const LaneTerm& term) const {
  const bool both_integers = !is_float(input_) && !is_float(term.dtype);
  if (term.imm == identity_bits(term.dtype, is_max_) ||
      (both_integers && term.imm == identity_bits(input_, is_max_)))
    return {{}, Nans::never, term.dtype};
  throw Unreadable{fmt::format("the constant 0x{:x} of {} takes part in it", term.imm, info(term.dtype).text),
                   false, true};
}

// Conversions to a wider type keep the order; back to the elements' own type, the value.
Joined Provenance::converted(const LaneTerm& term) {
  Joined joined = value(term.args[0]);
  const DType from = term.source();
  if (from == DType::u32 && term.dtype == DType::u16 && is_half(input_) && joined.dtype == from) {
    joined.dtype = input_;  // bits that were carried along
    return joined;
  }
  if (joined.dtype != from || joined.key != KeyForm::none)
    throw Unreadable{"a conversion of bits of another type"};
  const bool widens = bytes(from) < bytes(term.dtype) && (is_signed_int(term.dtype) || !is_signed_int(from));
  if (is_float(from) != is_float(term.dtype) || !(widens || term.dtype == input_))
    throw Unreadable{fmt::format("a conversion of {} to {}", info(from).text, info(term.dtype).text)};
  joined.dtype = term.dtype;
  return joined;
}

Joined Provenance::append(const Joined& before, const Joined& after, Nans nans) {
  Joined joined = before;
  joined.elements = before.elements.followed_by(after.elements);
  joined.nans = nans;
  joined.was_key = before.was_key || after.was_key;
  return joined;
}

// max(x, y) is y where they are equal or one is a NaN: with NaNs, y may then be none, and x no more than one
// element.
Joined Provenance::picked(const LaneTerm& term) {
  const KeyForm key = key_of(term);
  const Joined &x = key_operand(term.args[0], key), &y = key_operand(term.args[1], key);
  if (x.key != KeyForm::none || y.key != KeyForm::none) return picked_key(term, x, y);
  if (x.dtype != term.dtype || y.dtype != term.dtype)
    throw Unreadable{"a comparison of elements as another type than theirs"};
  if (x.elements.empty()) return y;
  const bool never = y.nans == Nans::never && (x.nans == Nans::kept || x.nans == Nans::never);
  return append(y, x, never ? Nans::never : Nans::lost);
}

std::vector<int64_t> Provenance::seen_nans(TermId mask) {
  const LaneTerm& term = graph_[mask];
  const bool is_test = term.kind == LaneTerm::Kind::op && term.op == Op::cmp && term.pred == Predicate::un;
  const bool is_union = term.kind == LaneTerm::Kind::op && term.op == Op::or_;
  if (!is_test && !is_union) throw Unreadable{"a choice among elements that is none of a maximum's"};
  std::vector<int64_t> seen;
  for (TermId part : {term.args[0], term.args[1]}) {
    const std::vector<int64_t> more = is_union ? seen_nans(part) : value(part).elements.copy();
    if (!is_union && value(part).dtype != term.dtype)
      throw Unreadable{"a comparison of elements as another type than theirs"};
    if (!is_union && value(part).nans == Nans::lost) throw Unreadable{"a NaN is looked for where it is lost"};
    if (is_union || value(part).nans != Nans::never) seen.insert(seen.end(), more.begin(), more.end());
  }
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  return seen;
}

// A NaN where one of the same elements is one, and else what is right if none is.
Joined Provenance::with_seen_nans(const LaneTerm& term) {
  Joined joined = value(term.args[2]);
  std::vector<int64_t> elements = joined.elements.copy();
  std::sort(elements.begin(), elements.end());
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
  if (seen_nans(term.args[0]) != elements) throw Unreadable{"NaNs are looked for in other elements"};
  joined.nans = Nans::win;
  return joined;
}

TermId Provenance::nan_test(TermId mask) {
  const LaneTerm& term = graph_[mask];
  const bool is_test =
      term.kind == LaneTerm::Kind::op && term.op == Op::cmp && term.args[0] == term.args[1] &&
      (term.pred == Predicate::un || term.pred == Predicate::ne) && value(term.args[0]).dtype == term.dtype;
  return is_test ? term.args[0] : no_term;
}

Provenance::Wins Provenance::comparison(TermId mask) {
  const LaneTerm& term = graph_[mask];
  if (term.kind != LaneTerm::Kind::op || term.op != Op::cmp) return {};
  if (term.pred == Predicate::ne && !is_float(term.dtype)) return equality(term);
  if (term.pred != Predicate::gt && term.pred != Predicate::lt) return {};
  const TermId x = term.args[0], y = term.args[1];
  // A constant takes part where it is chosen, which is asked later.
  const auto type_of = [&](TermId id) { return graph_.is_constant(id) ? graph_[id].dtype : value(id).dtype; };
  if (type_of(x) != term.dtype || type_of(y) != term.dtype)
    throw Unreadable{"a comparison of elements as another type than theirs"};
  if (term.pred == (is_max_ ? Predicate::gt : Predicate::lt)) return {x, y, false};
  if (term.pred == (is_max_ ? Predicate::lt : Predicate::gt)) return {y, x, false};
  return {};
}

Provenance::Wins Provenance::wins(TermId mask) {
  const LaneTerm& term = graph_[mask];
  if (term.kind != LaneTerm::Kind::op || term.op != Op::or_) return comparison(mask);
  for (int i : {0, 1}) {
    const Wins found = comparison(term.args[i]);
    if (found.x != no_term && nan_test(term.args[1 - i]) == found.x) return {found.x, found.y, true};
  }
  return place_wins(mask);
}

Joined Provenance::selected(const LaneTerm& term) {
  const TermId chosen = term.args[1], other = term.args[2];
  if (const auto carried = carried_bits(term)) return *carried;
  if (graph_.is_constant(chosen) &&
      is_nan_bits(graph_[chosen].dtype, static_cast<uint64_t>(graph_[chosen].imm)))
    return with_seen_nans(term);
  Wins found = wins(term.args[0]);
  if (found.x != chosen || found.y != other) found = {};
  const LaneTerm& most = graph_[other];
  if (nan_test(term.args[0]) == chosen && most.kind == LaneTerm::Kind::op && is_pick(most) &&
      most.args[0] == chosen)
    found = {chosen, most.args[1], true};
  if (found.x == no_term) throw Unreadable{"a choice among elements that is none of a maximum's"};
  const Joined &x = value(found.x), &y = value(found.y);
  if (x.dtype != y.dtype || x.dtype != term.dtype)
    throw Unreadable{"a comparison of elements as another type than theirs"};
  if (x.elements.empty()) return y;  // nothing is beyond the lowest value
  return found.by_place() ? joined_by_place(found) : joined_by(found, x, y);
}

// The sequence after x has been compared with what came before.
Joined Provenance::joined_by(const Wins& found, const Joined& x, const Joined& y) {
  const bool never = x.nans == Nans::never && y.nans == Nans::never;
  if (never) return append(y, x, Nans::never);
  if (!found.nan_wins && y.nans == Nans::never && x.nans == Nans::kept) return append(y, x, Nans::never);
  const auto keeps_nans = [](const Joined& joined) {
    return joined.elements.empty() || joined.nans == Nans::kept || joined.nans == Nans::win;
  };
  return append(y, x, found.nan_wins && keeps_nans(x) && keeps_nans(y) ? Nans::win : Nans::lost);
}

const Winner& Provenance::winner(TermId id) {
  return winners_.of(id, [this](TermId one) { return read_winner(one); });
}

Winner Provenance::read_winner(TermId id) {
  const LaneTerm& term = graph_[id];
  if (term.kind == LaneTerm::Kind::constant) return {{{-1, term.imm}}, Nans::kept};
  if (term.kind != LaneTerm::Kind::op) throw Unreadable{"an index that is an input element"};
  if (term.op == Op::min) return first_of_best(term);
  if (const auto largest = largest_of_kept(term)) return *largest;
  if (term.op != Op::select) return moved(term);
  Wins found = kept(term.args[0]);
  const bool is_kept = found.x != no_term;
  if (!is_kept) found = wins(term.args[0]);
  const TermId index_of_x = term.args[is_kept ? 2 : 1], index_of_y = term.args[is_kept ? 1 : 2];
  if (found.x == no_term) throw Unreadable{"a choice of an index that is none of a maximum's"};
  if (found.by_place()) {
    if (found.x_index != term.args[1] || found.y_index != term.args[2])
      throw Unreadable{"an index that is chosen by others"};
    return {merged(found), joined_by_place(found).nans};
  }
  return of_later(found, index_of_x, index_of_y);
}

// x wins over what came before.
Winner Provenance::of_later(const Wins& found, TermId index_of_x, TermId index_of_y) {
  if (value(found.x).elements.empty()) return this->winner(index_of_y);
  Winner winner{rows(index_of_y, found.y), found.nan_wins ? Nans::win : Nans::never};
  for (const TermId part : {index_of_x, index_of_y}) {
    const Nans nans = this->winner(part).nans;
    if (nans != Nans::kept && nans != winner.nans) throw Unreadable{"an index that treats NaNs in two ways"};
  }
  winner.rows = winner.rows.followed_by(rows(index_of_x, found.x));
  return winner;
}

// The index's rows belong to the elements of the value that it goes with. Of integers a value does not say
// in which order these were joined.
Sequence<Winner::Row> Provenance::rows(TermId index, TermId value_term) {
  Sequence<Winner::Row> rows = winner(index).rows;
  const Sequence<int64_t> elements = value(value_term).elements;
  if (rows.size() == 1 && rows[0].element == -1) {
    if (elements.size() > 1) throw Unreadable{"one index for several elements"};
    return {{elements.empty() ? -1 : elements[0], rows[0].index}};
  }
  if (!is_float(input_)) {
    if (!are_of(rows, value(value_term))) throw Unreadable{"an index that goes with another value"};
    return rows;
  }
  size_t at = 0;
  for (const Winner::Row& row : rows)
    if (row.element != -1 && (at == elements.size() || elements[at++] != row.element))
      throw Unreadable{"an index that goes with another value"};
  if (at != elements.size()) throw Unreadable{"an index that goes with another value"};
  return rows;
}

// Of the same winner, what is made of two numbers of each row.
Winner Provenance::added(const Winner& a, const Winner& b, DType dtype) {
  const auto is_same = [](const Winner::Row& x, const Winner::Row& y) { return x.element == y.element; };
  if (a.nans != b.nans || !std::ranges::equal(a.rows, b.rows, is_same))
    throw Unreadable{"indices of two winners are added"};
  std::vector<Winner::Row> sums = a.rows.copy();
  for (size_t i = 0; i < sums.size(); ++i) sums[i].index = lane_bits(dtype, sums[i].index + b.rows[i].index);
  return {std::move(sums), a.nans};
}

// Arithmetic with constants, shifts and conversions move each row's number.
Winner Provenance::moved(const LaneTerm& term) {
  if (term.op == Op::add && !graph_.is_constant(term.args[0]) && !graph_.is_constant(term.args[1]))
    return added(winner(term.args[0]), winner(term.args[1]), term.dtype);
  const bool is_first = !graph_.is_constant(term.args[0]);
  const Winner& winner = this->winner(term.args[is_first ? 0 : 1]);
  std::vector<Winner::Row> rows = winner.rows.copy();
  const auto other = term.args[is_first ? 1 : 0];
  const bool has_constant = other != no_term && graph_.is_constant(other);
  const int64_t constant = has_constant ? graph_[other].imm : 0;
  for (auto& [element, index] : rows) {
    int64_t moved = index;
    if (term.op == Op::add && has_constant)
      moved = index + constant;
    else if (term.op == Op::mul && has_constant)
      moved = index * constant;
    else if (term.op == Op::sub && has_constant && is_first)
      moved = index - constant;
    else if (term.op == Op::shr && index >= 0)
      moved = index >> term.imm;
    else if (term.op != Op::cvt || is_float(term.dtype) || term.source() != graph_[term.args[0]].dtype)
      throw Unreadable{fmt::format("{} of indices", info(term.op).text)};
    index = lane_bits(term.dtype, moved);
  }
  return {std::move(rows), winner.nans};
}

}  // namespace pooljit::ir
