#include "proof/program/linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "ir/reductions/stored.h"

namespace pooljit::ir {
namespace {

double float_value(DType dtype, int64_t bits) {
  switch (info(dtype).bits) {
    case 64:
      return std::bit_cast<double>(bits);
    case 32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    default:
      throw Unreadable{fmt::format("arithmetic in {}", info(dtype).text)};
  }
}

bool may_overflow(const LaneTerm& term) {
  return term.kind == LaneTerm::Kind::op &&
         (term.op == Op::add || term.op == Op::sub || term.op == Op::mul || term.op == Op::shl);
}

constexpr Rational digit_base = {int64_t{1} << 32, 1};

std::pair<int64_t, LinearForm::Part> key(const LinearForm::Weight& weight) {
  return {weight.element, weight.part};
}

// Digits that weigh what they do in their number become it.
void join_digits(std::vector<LinearForm::Weight>& weights) {
  for (size_t i = 0; i + 1 < weights.size(); ++i) {
    const LinearForm::Weight high = weights[i], low = weights[i + 1];
    const bool is_number = high.element == low.element && high.part == LinearForm::Part::high &&
                           low.part == LinearForm::Part::low && high.weight == digit_base * low.weight;
    if (!is_number) continue;
    weights.erase(weights.begin() + static_cast<std::ptrdiff_t>(i));
    const bool has_whole = i > 0 && weights[i - 1].element == low.element;
    if (!has_whole) {
      weights[i] = {low.element, low.weight};
      continue;
    }
    weights[i - 1].weight = weights[i - 1].weight + low.weight;
    weights.erase(weights.begin() + static_cast<std::ptrdiff_t>(i--));
    if (weights[i].weight.numerator == 0) weights.erase(weights.begin() + static_cast<std::ptrdiff_t>(i--));
  }
}

// a + factor * b.
LinearForm sum(const LinearForm& a, const LinearForm& b, const Rational& factor) {
  LinearForm result;
  result.constant = a.constant + factor * b.constant;
  size_t i = 0, j = 0;
  bool has_digits = false;
  while (i < a.weights.size() || j < b.weights.size()) {
    const bool takes_a =
        i < a.weights.size() && (j == b.weights.size() || key(a.weights[i]) <= key(b.weights[j]));
    const bool takes_b =
        j < b.weights.size() && (i == a.weights.size() || key(b.weights[j]) <= key(a.weights[i]));
    LinearForm::Weight weight = takes_a ? a.weights[i] : b.weights[j];
    weight.weight = {};
    if (takes_a) weight.weight = a.weights[i++].weight;
    if (takes_b) weight.weight = weight.weight + factor * b.weights[j++].weight;
    if (weight.weight.numerator != 0) result.weights.push_back(weight);
    has_digits = has_digits || weight.part != LinearForm::Part::whole;
  }
  if (has_digits) join_digits(result.weights);
  return result;
}

}  // namespace

LinearForm LinearForm::times(const Rational& factor) const { return sum({}, *this, factor); }
LinearForm LinearForm::plus(const LinearForm& other) const { return sum(*this, other, {1, 1}); }
LinearForm LinearForm::without_constant() const { return {weights, {}}; }
LinearForm LinearForm::with_ties(std::optional<RoundingRule> rule) const { return {weights, constant, rule}; }

Rational Rational::make(Int128 numerator, Int128 denominator) {
  if (denominator == 0) throw Unreadable{"a division by 0"};
  if (denominator < 0) numerator = -numerator, denominator = -denominator;
  Int128 a = numerator < 0 ? -numerator : numerator, b = denominator;
  while (b != 0) std::swap(a, b), b %= a == 0 ? 1 : a;
  if (a > 1) numerator /= a, denominator /= a;
  constexpr Int128 most = std::numeric_limits<int64_t>::max();
  if (numerator > most || numerator < -most || denominator > most)
    throw Unreadable{"a weight that takes more than 64 bits", true};
  return {static_cast<int64_t>(numerator), static_cast<int64_t>(denominator)};
}

Rational Rational::exactly(double value) {
  if (!std::isfinite(value)) throw Unreadable{"a weight that is no number"};
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  auto whole = static_cast<int64_t>(std::ldexp(fraction, 53));
  for (exponent -= 53; whole != 0 && whole % 2 == 0; ++exponent) whole /= 2;
  if (whole == 0) return {};
  if (exponent > 60 || exponent < -60) throw Unreadable{"a weight beyond 2^60", true};
  const Int128 power = Int128{1} << std::abs(exponent);
  return exponent > 0 ? Rational::make(whole * power, 1) : make(whole, power);
}

Rational Rational::meant(DType dtype, double value) {
  constexpr double most = 0x1p20;
  const double k = std::round(1 / value);
  const bool is_odd = std::abs(k) >= 3 && std::abs(k) < most && std::fmod(k, 2) != 0;
  const double rounded = dtype == DType::f64 ? 1 / k : static_cast<double>(1 / static_cast<float>(k));
  return is_odd && rounded == value ? make(1, static_cast<Int128>(k)) : exactly(value);
}

Rational operator+(const Rational& a, const Rational& b) {
  return Rational::make(Int128{a.numerator} * b.denominator + Int128{b.numerator} * a.denominator,
                        Int128{a.denominator} * b.denominator);
}
Rational operator-(const Rational& a, const Rational& b) { return a + Rational{-1, 1} * b; }
Rational operator*(const Rational& a, const Rational& b) {
  return Rational::make(Int128{a.numerator} * b.numerator, Int128{a.denominator} * b.denominator);
}
Rational operator/(const Rational& a, const Rational& b) {
  return Rational::make(Int128{a.numerator} * b.denominator, Int128{a.denominator} * b.numerator);
}

const LinearForm& Linear::form(TermId id) {
  return forms_.of(id, [this](TermId one) { return make(one); });
}

const LinearForm& Linear::read(TermId id) {
  const LaneTerm& term = graph_[id];
  // Of sums of 16 bits only these bits are known yet.
  return may_overflow(term) ? read_as(term.dtype, id) : form(id);
}

const LinearForm& Linear::read_as(DType dtype, TermId id) {
  const bool is_widened = dtype == DType::f32 && graph_.high_half(id) != no_term;
  // What is clamped to be no less than 0 is the same number without a sign.
  const LaneTerm& term = graph_[id];
  const bool loses_sign =
      (dtype == DType::u32 && term.dtype == DType::i32) || (dtype == DType::u64 && term.dtype == DType::i64);
  const auto clamped_to = loses_sign ? written_.picked_from(id, Op::max, term.dtype) : std::nullopt;
  const auto is_zero = [&](TermId arg) { return graph_.is_constant(arg) && graph_[arg].imm == 0; };
  const bool is_positive = clamped_to && (is_zero(clamped_to->a) || is_zero(clamped_to->b));
  // What leaves its high bytes free is the same number with a sign.
  const bool is_small = dtype == DType::i32 && term.dtype == DType::u32 && graph_.used_bytes(id) < 4;
  const auto refused = [&] {
    return Unreadable{fmt::format("bits of {} that are taken as {}", info(term.dtype).text, info(dtype).text),
                      true};
  };
  if (is_short(dtype) && is_short(term.dtype)) {
    const LinearForm& result = form(id);
    return fits(result, dtype) ? result : throw refused();
  }
  if (term.dtype != dtype && !is_widened && !is_positive && !is_small) throw refused();
  return form(id);
}

Rational Linear::constant(TermId id) const {
  const LaneTerm& term = graph_[id];
  return is_float(term.dtype) ? Rational::exactly(float_value(term.dtype, term.imm)) : Rational{term.imm, 1};
}

Rational Linear::factor(TermId id) const {
  const LaneTerm& term = graph_[id];
  return is_float(term.dtype) ? Rational::meant(term.dtype, float_value(term.dtype, term.imm)) : constant(id);
}

LinearForm Linear::make(TermId id) {
  const LaneTerm& term = graph_[id];
  switch (term.kind) {
    case LaneTerm::Kind::constant:
      return {{}, constant(id)};
    case LaneTerm::Kind::input:
      if (term.buffer != 0) throw Unreadable{"an element of another tensor than the input"};
      return {{{term.imm, {1, 1}}}, {}};
    case LaneTerm::Kind::pack:
      if (const TermId half = graph_.high_half(id); half != no_term) return read_as(DType::bf16, half);
      if (auto form = digit(id)) return *form;
      if (const TermId low = graph_.below_zeros(id); low != no_term)
        return read_as(unsigned_of(graph_[low].dtype), low);
      throw Unreadable{"an element that is put together from bytes of others", is_open_};
    default:
      return computed(id);
  }
}

// A digit of an element.
std::optional<LinearForm> Linear::digit(TermId id) {
  const TermId low = written_.with_low_digit(id);
  const TermId whole = low != no_term ? low : written_.with_high_digit(id);
  if (whole == no_term || graph_[whole].kind != LaneTerm::Kind::input || graph_[whole].buffer != 0)
    return std::nullopt;
  return LinearForm{
      {{graph_[whole].imm, {1, 1}, low != no_term ? LinearForm::Part::low : LinearForm::Part::high}}, {}};
}

// What takes several instructions: conversions, quotients, digits.
std::optional<LinearForm> Linear::written_out(TermId id) {
  const DType dtype = graph_[id].dtype;
  if (dtype != DType::i64 && dtype != DType::f64 && dtype != DType::f32) return std::nullopt;
  const DType from = dtype == DType::i64 ? DType::f64 : DType::i64;
  if (const TermId x = written_.converted_from(id, from, dtype); x != no_term) return converted(id, from, x);
  if (dtype != DType::i64) return std::nullopt;
  if (const auto found = written_.quotient(id)) {
    const LinearForm& dividend = read_as(dtype, found->dividend);
    expect_below(dividend, 0x1p62L);
    return dividend.times({1, found->divisor}).with_ties(found->ties);
  }
  if (const auto found = written_.wide_quotient(id)) {
    const LinearForm &high = read_as(dtype, found->high), &low = read_as(dtype, found->low);
    const bool is_small = found->size == SumSize::small;
    expect_below(high, is_small ? 0x1p50L : 0x1p62L);
    expect_below(low, 0x1p62L);
    if (found->divisor > (is_small ? most_small_divisor : int64_t{1} << 31))
      throw Unreadable{"a divisor that is too large for a sum in digits"};
    return sum(low, high, digit_base).times({1, found->divisor}).with_ties(found->ties);
  }
  return digit(id);
}

// Of the number x, which may have been moved so that its ties go away from zero.
LinearForm Linear::converted(TermId id, DType from, TermId x) {
  const DType to = graph_[id].dtype;
  const bool may_be_away = is_float(from) && (to == DType::i32 || (to == DType::i64 && from == DType::f64));
  const TermId number = may_be_away ? written_.rounded_away_from(id, from, to) : no_term;
  if (number != no_term) return read_as(from, number).with_ties(RoundingRule::half_away);
  return read_as(from, x);
}

Linear::Range Linear::range(const LinearForm& form) const {
  const auto value = [](const Rational& number) {
    return static_cast<long double>(number.numerator) / static_cast<long double>(number.denominator);
  };
  const auto of_part = [&](LinearForm::Part part) {
    if (part == LinearForm::Part::low) return Range{0, 0x1p32L - 1};
    if (part == LinearForm::Part::high) return Range{-0x1p31L, 0x1p31L - 1};
    const IntegerRange all = integer_range(input_);
    return Range{static_cast<long double>(all.least), static_cast<long double>(all.most)};
  };
  Range result = {value(form.constant), value(form.constant)};
  for (const LinearForm::Weight& one : form.weights) {
    const Range part = of_part(one.part);
    const long double weight = value(one.weight), a = weight * part.low, b = weight * part.high;
    result.low += std::min(a, b);
    result.high += std::max(a, b);
  }
  return result;
}

bool Linear::fits(const LinearForm& form, DType dtype) const {
  // What is divided is rounded to an integer.
  constexpr long double rounding = 0.25L;
  const IntegerRange all = integer_range(dtype);
  const Range found = range(form);
  return found.low >= static_cast<long double>(all.least) - rounding &&
         found.high <= static_cast<long double>(all.most) + rounding;
}

void Linear::expect_below(const LinearForm& form, long double most) const {
  const Range found = range(form);
  if (found.low <= -most || found.high >= most)
    throw Unreadable{"a dividend that is too large for its division"};
}

// Elements of floats are far from overflowing integers that they were never converted to.
LinearForm Linear::computed(TermId id) {
  LinearForm form = made_by(id);
  const LaneTerm& term = graph_[id];
  if (!may_overflow(term) || is_float(term.dtype) || is_float(input_)) return form;
  if (fits(form, term.dtype)) return form;
  if (is_short(term.dtype))
    for (const int64_t turn : {0, 0x10000, -0x10000}) {
      LinearForm turned = form;
      turned.constant = turned.constant + Rational{turn, 1};
      if (fits(turned, DType::u16) || fits(turned, DType::i16)) return turned;
    }
  const Range found = range(form);
  throw Unreadable{fmt::format("{} of {} may overflow: from {} to {}", info(term.op).text,
                               info(term.dtype).text, static_cast<double>(found.low),
                               static_cast<double>(found.high))};
}

LinearForm Linear::made_by(TermId id) {
  const LaneTerm& term = graph_[id];
  if (const TermId x = graph_.rounded_to_bf16(id); x != no_term) return read_as(DType::f32, x);
  if (auto form = written_out(id)) return *form;
  if (auto form = clamped(id)) return *form;
  if (auto form = short_quotient(id)) return *form;
  switch (term.op) {
    case Op::add:
      return sum(summand(term.dtype, term.args[0]), summand(term.dtype, term.args[1]), {1, 1});
    case Op::sub:
      return sum(summand(term.dtype, term.args[0]), summand(term.dtype, term.args[1]), {-1, 1});
    case Op::mul:
      return scaled(term, false);
    case Op::div:
      return scaled(term, true);
    case Op::fma:
      return sum(scaled(term, false), read_as(term.dtype, term.args[2]), {1, 1});
    case Op::shl:
      if (term.imm < 62) return read_as(term.dtype, term.args[0]).times({int64_t{1} << term.imm, 1});
      break;
    case Op::cvt:
      return converted(id, term.source(), term.args[0]);
    case Op::select:
      return chosen(term);
    default:
      break;
  }
  throw Unreadable{fmt::format("{} of input elements", info(term.op).text), is_open_};
}

// Sums and differences of integers of 16 bits are right modulo 2^16.
const LinearForm& Linear::summand(DType dtype, TermId id) {
  return is_short(dtype) && is_short(graph_[id].dtype) ? form(id) : read_as(dtype, id);
}

LinearForm Linear::scaled(const LaneTerm& term, bool divides) {
  if (graph_.is_constant(term.args[1])) {
    const Rational by = divides ? Rational{1, 1} / constant(term.args[1]) : factor(term.args[1]);
    return read_as(term.dtype, term.args[0]).times(by);
  }
  if (divides || !graph_.is_constant(term.args[0])) throw Unreadable{"a product of input elements"};
  return read_as(term.dtype, term.args[1]).times(factor(term.args[0]));
}

// Whether a bound cuts off nothing that the output could hold, but for what floats near its end round to.
bool Linear::is_beyond_output(TermId bound, bool above) const {
  if (is_float(output_)) return false;
  const LaneTerm& term = graph_[bound];
  const double at = is_float(term.dtype) ? float_value(term.dtype, term.imm) : static_cast<double>(term.imm);
  const int digits = info(output_).bits - (is_signed_int(output_) ? 1 : 0);
  const double end = std::ldexp(1.0, digits), slack = digits > 16 ? std::ldexp(end, -24) : 0;
  return above ? at >= end - 1 - slack : at <= (is_signed_int(output_) ? -end : 0);
}

// Clamping to the output's range, which the conversion to it would do.
std::optional<LinearForm> Linear::clamped(TermId id) {
  const DType dtype = graph_[id].dtype;
  for (const Op op : {Op::min, Op::max}) {
    const auto pair = written_.picked_from(id, op, dtype);
    if (!pair) continue;
    for (const auto& [bound, x] : {std::pair(pair->a, pair->b), std::pair(pair->b, pair->a)})
      if (graph_.is_constant(bound) && is_beyond_output(bound, op == Op::min)) return read_as(dtype, x);
  }
  return std::nullopt;
}

// 0 for a NaN, or the end of the output's range for what lies beyond it, of the same number.
LinearForm Linear::chosen(const LaneTerm& term) {
  const LaneTerm& mask = graph_[term.args[0]];
  const bool is_guard =
      mask.kind == LaneTerm::Kind::op && mask.op == Op::cmp && graph_.is_constant(term.args[1]);
  const bool is_nan =
      is_guard && mask.pred == Predicate::un && mask.args[0] == mask.args[1] && graph_[term.args[1]].imm == 0;
  const bool is_above = is_guard && mask.pred == Predicate::ge && graph_.is_constant(mask.args[1]) &&
                        is_beyond_output(mask.args[1], true) && is_beyond_output(term.args[1], true);
  const auto number = [&](DType dtype, TermId id) { return read_as(dtype, id).with_ties({}); };
  if ((!is_nan && !is_above) || number(mask.dtype, mask.args[0]) != number(term.dtype, term.args[2]))
    throw Unreadable{"select of input elements", is_open_};
  return form(term.args[2]);
}

}  // namespace pooljit::ir
