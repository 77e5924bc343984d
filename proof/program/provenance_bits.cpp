// Provenance of elements that are not compared as themselves: floats as integer keys, halves as float32.
#include <fmt/format.h>

#include "ir/float_format.h"
#include "proof/program/provenance.h"

namespace pooljit::ir {

// --- keys

// x of (x < 0 ? inf - x : x), of integers as wide as the elements: from a float to its key, and back.
TermId Provenance::mirrored(const LaneTerm& term) const {
  if (term.op != Op::select || is_float(term.dtype) || bytes(term.dtype) != bytes(input_)) return no_term;
  const LaneTerm &test = graph_[term.args[0]], &turned = graph_[term.args[1]];
  const TermId x = term.args[2];
  const auto is_constant = [&](TermId id, int64_t bits) {
    return graph_.is_constant(id) && graph_[id].imm == lane_bits(term.dtype, bits);
  };
  const auto is_op = [&](const LaneTerm& made, Op op) {
    return made.kind == LaneTerm::Kind::op && made.op == op && made.dtype == term.dtype;
  };
  const bool is_lt =
      is_op(test, Op::cmp) && test.pred == Predicate::lt && test.args[0] == x && is_constant(test.args[1], 0);
  const bool is_gt =
      is_op(test, Op::cmp) && test.pred == Predicate::gt && test.args[1] == x && is_constant(test.args[0], 0);
  const bool turns = is_op(turned, Op::sub) && turned.args[1] == x &&
                     is_constant(turned.args[0], static_cast<int64_t>(infinity_bits(input_)));
  return (is_lt || is_gt) && turns && is_signed_int(term.dtype) ? x : no_term;
}

// A key plus or minus the number of NaNs of one sign, which moves them to the other end.
std::optional<Joined> Provenance::shifted_key(const LaneTerm& term) {
  const bool adds = term.op == Op::add;
  if ((!adds && term.op != Op::sub) || is_float(term.dtype) || bytes(term.dtype) != bytes(input_))
    return std::nullopt;
  const auto nans = static_cast<int64_t>(sign_bit(input_) - 1 - infinity_bits(input_));
  if (!graph_.is_constant(term.args[1])) return std::nullopt;
  const int64_t by = graph_[term.args[1]].imm;
  const bool is_below = by == lane_bits(term.dtype, adds ? nans : -nans);
  const bool is_above = by == lane_bits(term.dtype, adds ? -nans : nans);
  Joined joined = value(term.args[0]);
  if (joined.key != (is_below ? KeyForm::nans_above : KeyForm::nans_below) || (!is_below && !is_above))
    return std::nullopt;
  joined.key = is_below ? KeyForm::nans_below : KeyForm::nans_above;
  return joined;
}

std::optional<Joined> Provenance::as_key(const LaneTerm& term) {
  if (!is_float(input_)) return std::nullopt;
  const TermId x = mirrored(term);
  if (x == no_term) return shifted_key(term);
  Joined joined = value(x);
  if (joined.key == KeyForm::nans_below || (joined.key == KeyForm::none && joined.dtype != input_))
    return std::nullopt;
  const bool is_back = joined.key == KeyForm::nans_above;
  joined.key = is_back ? KeyForm::none : KeyForm::nans_above;
  joined.dtype = is_back ? input_ : term.dtype;
  return joined;
}

// The kind of key that an operand of a maximum is.
KeyForm Provenance::key_of(const LaneTerm& term) {
  for (const int i : {0, 1})
    if (!graph_.is_constant(term.args[i]))
      if (const KeyForm key = value(term.args[i]).key; key != KeyForm::none) return key;
  return KeyForm::none;
}

// The key of the value that no element is beyond takes part as no element.
const Joined& Provenance::key_operand(TermId id, KeyForm key) {
  if (key == KeyForm::none || !graph_.is_constant(id)) return value(id);
  const LaneTerm& term = graph_[id];
  const auto infinity = static_cast<int64_t>(infinity_bits(input_));
  const auto nans = static_cast<int64_t>(sign_bit(input_) - 1) - infinity;
  const int64_t bits =
      is_max_ ? infinity - static_cast<int64_t>(infinity_bits(input_) | sign_bit(input_)) : infinity;
  if (term.imm != lane_bits(term.dtype, bits + (key == KeyForm::nans_below ? nans : 0)))
    throw Unreadable{fmt::format("the constant 0x{:x} takes part as a key", term.imm)};
  return nothing_[{id, key}] = {{}, Nans::never, term.dtype, key, true};
}

// The order of keys is total, so neither operand comes first.
Joined Provenance::picked_key(const LaneTerm& term, const Joined& x, const Joined& y) {
  if (x.key != y.key || x.dtype != term.dtype || y.dtype != term.dtype)
    throw Unreadable{"a comparison of elements as another type than theirs"};
  const auto is_one_of = [](Nans nans, Nans a, Nans b) {
    return nans == Nans::kept || nans == a || nans == b;
  };
  Joined joined = append(y, x, Nans::lost);
  joined.was_key = true;
  const bool nans_win = (x.key == KeyForm::nans_above) == is_max_;
  if (nans_win && x.elements.empty())
    joined.nans = y.nans;
  else if (nans_win && y.elements.empty())
    joined.nans = x.nans;
  else if (nans_win && is_one_of(x.nans, Nans::win, Nans::win) && is_one_of(y.nans, Nans::win, Nans::win))
    joined.nans = Nans::win;
  else if (!nans_win && is_one_of(x.nans, Nans::never, Nans::last) &&
           is_one_of(y.nans, Nans::never, Nans::last))
    joined.nans = x.nans == Nans::never || y.nans == Nans::never ? Nans::never : Nans::last;
  return joined;
}

// --- halves

// The bits of a half, which go where its value wins: what they are of is what the values are made of.
std::optional<Joined> Provenance::carried_bits(const LaneTerm& term) {
  if (!is_half(input_) || term.dtype != DType::u32) return std::nullopt;
  const Wins found = wins(term.args[0]);
  if (found.x == no_term) return first_bits(term);
  const Joined &x = value(found.x), &y = value(found.y);
  const Joined chosen = bits_of_half(term.args[1]), other = bits_of_half(term.args[2]);
  const auto are_of = [](const Joined& bits, const Joined& joined) {
    return bits.elements == joined.elements && bits.nans == joined.nans;
  };
  if (!are_of(chosen, x) || !are_of(other, y)) return std::nullopt;
  Joined joined = x.elements.empty() ? y : found.by_place() ? joined_by_place(found) : joined_by(found, x, y);
  joined.dtype = DType::u32;
  return joined;
}

// Those of the first element, or of the value that none is beyond where it is a NaN that must not win.
std::optional<Joined> Provenance::first_bits(const LaneTerm& term) {
  const TermId tested = nan_test(term.args[0]);
  if (tested == no_term || !graph_.is_constant(term.args[1]) ||
      graph_[term.args[1]].imm != identity_bits(input_, is_max_))
    return std::nullopt;
  Joined joined = bits_of_half(term.args[2]);
  const Joined& x = value(tested);
  if (joined.elements != x.elements || joined.nans != Nans::kept || x.nans != Nans::kept) return std::nullopt;
  joined.nans = Nans::never;
  return joined;
}

Joined Provenance::bits_of_half(TermId id) {
  const LaneTerm& term = graph_[id];
  if (graph_.is_constant(id) && term.imm == identity_bits(input_, is_max_))
    return {{}, Nans::never, DType::u32};
  const bool widens = term.kind == LaneTerm::Kind::op && term.op == Op::cvt && term.source() == DType::u16;
  Joined joined = value(widens ? term.args[0] : id);
  if (joined.dtype != (widens ? input_ : DType::u32)) throw Unreadable{"bits that are no element's"};
  joined.dtype = DType::u32;
  return joined;
}

// A bfloat16 is the high half of a float32: widened by zeros below, or taken from one that some bfloat16 was.
std::optional<Joined> Provenance::put_together(TermId id) {
  if (input_ != DType::bf16) return std::nullopt;
  if (const TermId half = graph_.high_half(id); half != no_term) {
    Joined joined = value(half);
    if (joined.dtype != DType::bf16 || joined.key != KeyForm::none) return std::nullopt;
    joined.dtype = DType::f32;
    return joined;
  }
  const TermId whole = graph_.whole_of(id);
  if (whole == no_term) return std::nullopt;
  Joined joined = value(whole);
  if (joined.dtype != DType::f32 || joined.key != KeyForm::none) return std::nullopt;
  joined.dtype = DType::bf16;
  return joined;
}

// Rounded back to the bfloat16 that it was widened from.
std::optional<Joined> Provenance::rounded(TermId id) {
  const TermId x = input_ == DType::bf16 ? graph_.rounded_to_bf16(id) : no_term;
  if (x == no_term) return std::nullopt;
  Joined joined = value(x);
  if (joined.dtype != DType::f32 || joined.key != KeyForm::none) return std::nullopt;
  joined.dtype = DType::bf16;
  return joined;
}

}  // namespace pooljit::ir
