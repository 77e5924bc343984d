// Linear: quotients in lanes of 16 bits (ir/reductions/short_average.h).
#include <numeric>

#include "proof/program/linear.h"

namespace pooljit::ir {

// The low byte of a quotient is the same whether a sign or zeros are shifted in above it.
std::optional<LinearForm> Linear::short_quotient(TermId id) {
  const LaneTerm& term = graph_[id];
  const bool of_low_byte =
      term.op == Op::cvt && term.keeps_low_bytes() && bytes(term.dtype) == 1 && !term.saturate;
  TermId quotient = id;
  if (of_low_byte) {
    const LaneTerm* const shifted = short_op(term.args[0], Op::shr);
    if (shifted ? shifted->imm > 8 : !short_op(term.args[0], Op::mulh)) return std::nullopt;
    quotient = term.args[0];
  }
  if (auto form = by_reciprocal(quotient, of_low_byte)) return form;
  return by_power_of_two(quotient, of_low_byte);
}

// The high half of a product with a constant, perhaps shifted further.
std::optional<Linear::ShortProduct> Linear::short_product(TermId id, bool of_low_byte) const {
  const LaneTerm* term = short_op(id, Op::mulh);
  const LaneTerm* const shifted = short_op(id, Op::shr);
  if (shifted) {
    term = short_op(shifted->args[0], Op::mulh);
    if (term && term->dtype != shifted->dtype && !of_low_byte) return std::nullopt;
  }
  if (!term) return std::nullopt;
  const int which = graph_.is_constant(term->args[1]) ? 1 : 0;
  if (!graph_.is_constant(term->args[which])) throw Unreadable{"a product of input elements"};
  return ShortProduct{term->args[1 - which], term->dtype, graph_[term->args[which]].imm,
                      16 + (shifted ? shifted->imm : 0)};
}

// A short product that is a quotient: of a number, and perhaps of one more where what lies below a tie is
// odd, or of one less where it is negative.
std::optional<LinearForm> Linear::by_reciprocal(TermId id, bool of_low_byte) {
  const auto product = short_product(id, of_low_byte);
  if (!product) return std::nullopt;
  Rounded parts;
  take_rounded(product->number, parts);
  const auto below = parts.bit == no_term ? std::nullopt : short_product(parts.bit, false);
  if (below && parts.of_sign != no_term) throw Unreadable{"a bit and a sign of a sum"};
  const bool has_sign = parts.bit == no_term && parts.of_sign != no_term;
  const LinearForm n =
      below || has_sign ? without_bit(parts, product->dtype) : read_as(product->dtype, product->number);
  RoundedProducts::Quotient quotient{product->of(n), std::nullopt, has_sign, of_low_byte};
  if (has_sign && read_as(DType::i16, parts.of_sign) != n.without_constant())
    throw Unreadable{"a sign of another sum"};
  if (below) {
    const LinearForm& lower = read_as(below->dtype, below->number);
    if (lower.weights != n.weights) throw Unreadable{"a bit of another sum"};
    quotient.odd = below->of(lower);
  }
  int64_t step = 0;
  for (const LinearForm::Weight& one : n.weights) {
    if (one.weight.denominator != 1) throw Unreadable{"a part of an integer"};
    step = std::gcd(step, one.weight.numerator);
  }
  const Range all = range(n.without_constant());
  const auto divisor =
      products_.divisor({static_cast<int64_t>(all.low), static_cast<int64_t>(all.high), step}, quotient);
  if (!divisor) throw Unreadable{"a product that is not rounded as a quotient"};
  return n.without_constant().times({1, divisor->divisor}).with_ties(divisor->ties);
}

// The sum of the other parts, which fits its lanes with the bit, or the sign, too.
LinearForm Linear::without_bit(const Rounded& parts, DType dtype) {
  LinearForm n;
  for (const TermId part : parts.others) n = n.plus(form(part));
  n.constant = n.constant + Rational{parts.constant, 1};
  LinearForm moved = n;
  moved.constant = moved.constant + Rational{parts.of_sign == no_term ? 1 : -1, 1};
  if (!fits(n, dtype) || !fits(moved, dtype)) throw Unreadable{"a sum that may overflow with its bit"};
  return n;
}

// Of integers of 16 bits, with or without a sign.
const LaneTerm* Linear::short_op(TermId id, Op op) const {
  const LaneTerm* const without_sign = graph_.op(id, op, DType::u16);
  return without_sign ? without_sign : graph_.op(id, op, DType::i16);
}

// The lowest bit of something, or its sign, and, it may be, others are added to a constant.
void Linear::take_rounded(TermId id, Rounded& sum) const {
  const LaneTerm* const bit = short_op(id, Op::and_);
  const LaneTerm* const difference = short_op(id, Op::sub);
  const LaneTerm* const added = short_op(id, Op::add);
  const LaneTerm* const sign = graph_.op(id, Op::shr, DType::i16);
  const auto is_constant = [&](TermId arg) { return graph_.is_constant(arg); };
  const int one = bit && is_constant(bit->args[0]) ? 0 : 1;
  if (bit && is_constant(bit->args[one]) && graph_[bit->args[one]].imm == 1) {
    sum.bit = bit->args[1 - one];
    const LaneTerm* const high = short_op(sum.bit, Op::shr);
    sum.of_bit = high ? high->args[0] : no_term;
  } else if (sign && sign->imm == 15 && sum.of_sign == no_term) {
    sum.of_sign = sign->args[0];
  } else if (is_constant(id)) {
    sum.constant += graph_[id].imm;
  } else if (difference && is_constant(difference->args[1])) {
    sum.constant -= graph_[difference->args[1]].imm;
    take_rounded(difference->args[0], sum);
  } else if (added && sum.depth < 3 && id != sum.of_bit && id != sum.of_sign) {
    ++sum.depth;
    // What is known of the bit first.
    for (const int arg : {1, 0}) take_rounded(added->args[arg], sum);
  } else {
    sum.others.push_back(id);
  }
}

// What is shifted by k to be rounded, ties to even: n + (2^(k - 1) - 1) + (n >> k & 1); away from zero:
// n + 2^(k - 1), less one where n is negative.
std::optional<LinearForm> Linear::by_power_of_two(TermId id, bool of_low_byte) {
  const LaneTerm* const shifted = short_op(id, Op::shr);
  if (!shifted || shifted->imm < 1 || shifted->imm > 14) return std::nullopt;
  Rounded found;
  take_rounded(shifted->args[0], found);
  const bool is_away = found.bit == no_term;
  const int64_t half = int64_t{1} << (shifted->imm - 1), added = half - (is_away ? 0 : 1);
  const LaneTerm* const bit = is_away ? nullptr : short_op(found.bit, Op::shr);
  const bool has_bit = bit && bit->imm == shifted->imm && found.of_sign == no_term &&
                       found.others == std::vector<TermId>{found.of_bit};
  if ((!is_away && !has_bit) || (found.constant - added) % 0x10000 != 0) return std::nullopt;
  const LinearForm n = is_away ? half_moved(found) : form(found.of_bit);
  if (n.weights.empty()) return std::nullopt;
  LinearForm most = n;
  most.constant = most.constant + Rational{half, 1};
  const auto suits = [&](DType dtype) { return fits(n, dtype) && fits(most, dtype); };
  if (!suits(shifted->dtype) && !(of_low_byte && suits(DType::i16))) return std::nullopt;
  return n.times({1, int64_t{1} << shifted->imm})
      .with_ties(is_away ? RoundingRule::half_away : RoundingRule::half_even);
}

// The number that a constant, and a sign where it has one, are added to; empty: they are none of it.
LinearForm Linear::half_moved(const Rounded& parts) {
  if (parts.of_sign != no_term)
    return parts.others == std::vector<TermId>{parts.of_sign} ? form(parts.of_sign) : LinearForm{};
  LinearForm n;
  for (const TermId part : parts.others) n = n.plus(form(part));
  return range(n).low >= 0 ? n : LinearForm{};
}

}  // namespace pooljit::ir
