// Linear: quotients in lanes of 16 bits (ir/reductions/short_average.h).
#include <algorithm>
#include <numeric>

#include "ir/interp/linear.h"

namespace pooljit::ir {

// The low byte of a quotient is the same whether a sign or zeros are shifted in above it.
std::optional<Form> Linear::short_quotient(TermId id) {
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

// The high half of a product with a constant, perhaps shifted further, that is a quotient.
std::optional<Form> Linear::by_reciprocal(TermId id, bool of_low_byte) {
  const LaneTerm* term = short_op(id, Op::mulh);
  const LaneTerm* const shifted = short_op(id, Op::shr);
  const int64_t further = shifted ? shifted->imm : 0;
  if (shifted) {
    term = short_op(shifted->args[0], Op::mulh);
    if (term && term->dtype != shifted->dtype && !of_low_byte) return std::nullopt;
  }
  if (!term) return std::nullopt;
  const int which = graph_.is_constant(term->args[1]) ? 1 : 0;
  if (!graph_.is_constant(term->args[which])) throw Unreadable{"a product of input elements"};
  const Form& n = read_as(term->dtype, term->args[1 - which]);
  int64_t step = 0;
  for (const Form::Weight& one : n.weights) {
    if (one.weight.denominator != 1) throw Unreadable{"a part of an integer"};
    step = std::gcd(step, one.weight.numerator);
  }
  const Range all = range(n);
  const auto divisor =
      products_.divisor({static_cast<int64_t>(all.low), static_cast<int64_t>(all.high), step},
                        n.constant.numerator, graph_[term->args[which]].imm, 16 + further);
  if (!divisor) throw Unreadable{"a product that is not rounded as a quotient"};
  return n.without_constant().times({1, *divisor});
}

// Of integers of 16 bits, with or without a sign.
const LaneTerm* Linear::short_op(TermId id, Op op) const {
  const LaneTerm* const without_sign = graph_.op(id, op, DType::u16);
  return without_sign ? without_sign : graph_.op(id, op, DType::i16);
}

// n >> bits & 1 and, it may be, n are added to a constant.
void Linear::take_rounded(TermId id, int64_t bits, Rounded& sum) const {
  const LaneTerm* const bit = short_op(id, Op::and_);
  const LaneTerm* const high = bit ? short_op(bit->args[0], Op::shr) : nullptr;
  const LaneTerm* const difference = short_op(id, Op::sub);
  const LaneTerm* const added = short_op(id, Op::add);
  const auto is_constant = [&](TermId arg) { return graph_.is_constant(arg); };
  if (high && high->imm == bits && is_constant(bit->args[1]) && graph_[bit->args[1]].imm == 1) {
    sum.of_bit = high->args[0];
  } else if (is_constant(id)) {
    sum.constant += graph_[id].imm;
  } else if (difference && is_constant(difference->args[1])) {
    sum.constant -= graph_[difference->args[1]].imm;
    take_rounded(difference->args[0], bits, sum);
  } else if (added && sum.depth < 3 && id != sum.of_bit) {
    ++sum.depth;
    // What is known of the bit first.
    for (const int arg : {1, 0}) take_rounded(added->args[arg], bits, sum);
  } else {
    sum.others.push_back(id);
  }
}

// (n + (2^(k - 1) - 1) + (n >> k & 1)) >> k: to the nearest, ties to even.
std::optional<Form> Linear::by_power_of_two(TermId id, bool of_low_byte) {
  const LaneTerm* const shifted = short_op(id, Op::shr);
  if (!shifted || shifted->imm < 1 || shifted->imm > 14) return std::nullopt;
  Rounded found;
  take_rounded(shifted->args[0], shifted->imm, found);
  const int64_t added = (int64_t{1} << (shifted->imm - 1)) - 1;
  const bool is_rounded = found.of_bit != no_term && (found.constant - added) % 0x10000 == 0 &&
                          found.others == std::vector<TermId>{found.of_bit};
  if (!is_rounded) return std::nullopt;
  const Form& n = form(found.of_bit);
  Form most = n;
  most.constant = most.constant + Rational{added + 1, 1};
  const auto suits = [&](DType dtype) { return fits(n, dtype) && fits(most, dtype); };
  if (!suits(shifted->dtype) && !(of_low_byte && suits(DType::i16))) return std::nullopt;
  return n.times({1, int64_t{1} << shifted->imm});
}

}  // namespace pooljit::ir
