#include "ir/interp/linear.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace pooljit::ir {
namespace {

// The exact value of a float, which is a whole number times a power of two.
Rational from_float(double value) {
  if (!std::isfinite(value)) throw Unreadable{"a weight that is no number"};
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  auto whole = static_cast<int64_t>(std::ldexp(fraction, 53));
  for (exponent -= 53; whole != 0 && whole % 2 == 0; ++exponent) whole /= 2;
  if (whole == 0) return {};
  if (exponent > 60 || exponent < -60) throw Unreadable{"a weight beyond 2^60"};
  const Int128 power = Int128{1} << std::abs(exponent);
  return exponent > 0 ? Rational::make(whole * power, 1) : Rational::make(whole, power);
}

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

// a + factor * b.
Form sum(const Form& a, const Form& b, const Rational& factor) {
  Form result;
  result.constant = a.constant + factor * b.constant;
  size_t i = 0, j = 0;
  while (i < a.weights.size() || j < b.weights.size()) {
    const bool takes_a =
        i < a.weights.size() && (j == b.weights.size() || a.weights[i].element <= b.weights[j].element);
    const bool takes_b =
        j < b.weights.size() && (i == a.weights.size() || b.weights[j].element <= a.weights[i].element);
    Form::Weight weight{takes_a ? a.weights[i].element : b.weights[j].element, {}};
    if (takes_a) weight.weight = a.weights[i++].weight;
    if (takes_b) weight.weight = weight.weight + factor * b.weights[j++].weight;
    if (weight.weight.numerator != 0) result.weights.push_back(weight);
  }
  return result;
}

Form times(const Form& form, const Rational& factor) { return sum({}, form, factor); }

}  // namespace

Rational Rational::make(Int128 numerator, Int128 denominator) {
  if (denominator == 0) throw Unreadable{"a division by 0"};
  if (denominator < 0) numerator = -numerator, denominator = -denominator;
  Int128 a = numerator < 0 ? -numerator : numerator, b = denominator;
  while (b != 0) std::swap(a, b), b %= a == 0 ? 1 : a;
  if (a > 1) numerator /= a, denominator /= a;
  constexpr Int128 most = std::numeric_limits<int64_t>::max();
  if (numerator > most || numerator < -most || denominator > most)
    throw Unreadable{"a weight that takes more than 64 bits"};
  return {static_cast<int64_t>(numerator), static_cast<int64_t>(denominator)};
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

const Form& Linear::read(TermId id) {
  if (const auto known = forms_.find(id); known != forms_.end()) return known->second;
  Form form = make(id);
  return forms_.emplace(id, std::move(form)).first->second;
}

Rational Linear::constant(TermId id) const {
  const LaneTerm& term = graph_[id];
  return is_float(term.dtype) ? from_float(float_value(term.dtype, term.imm)) : Rational{term.imm, 1};
}

Form Linear::make(TermId id) {
  const LaneTerm& term = graph_[id];
  switch (term.kind) {
    case LaneTerm::Kind::constant:
      return {{}, constant(id)};
    case LaneTerm::Kind::input:
      if (term.buffer != 0) throw Unreadable{"an element of another tensor than the input"};
      return {{{term.imm, {1, 1}}}, {}};
    case LaneTerm::Kind::pack:
      throw Unreadable{"an element that is put together from bytes of others", !is_float(output_)};
    default:
      return made_by(term);
  }
}

Form Linear::made_by(const LaneTerm& term) {
  switch (term.op) {
    case Op::add:
      return sum(read(term.args[0]), read(term.args[1]), {1, 1});
    case Op::sub:
      return sum(read(term.args[0]), read(term.args[1]), {-1, 1});
    case Op::mul:
      return scaled(term, false);
    case Op::div:
      return scaled(term, true);
    case Op::fma: {
      LaneTerm product = term;
      return sum(scaled(product, false), read(term.args[2]), {1, 1});
    }
    case Op::shl:
      if (term.imm < 62) return times(read(term.args[0]), {int64_t{1} << term.imm, 1});
      break;
    case Op::cvt:
      return read(term.args[0]);
    case Op::select:
      return chosen(term);
    case Op::min:
    case Op::max:
      return clamped(term);
    default:
      break;
  }
  // Integers are divided in steps that have no reading.
  throw Unreadable{fmt::format("{} of input elements", info(term.op).text), !is_float(output_)};
}

Form Linear::scaled(const LaneTerm& term, bool divides) {
  if (graph_.is_constant(term.args[1])) {
    const Rational factor = constant(term.args[1]);
    return times(read(term.args[0]), divides ? Rational{1, 1} / factor : factor);
  }
  if (divides || !graph_.is_constant(term.args[0])) throw Unreadable{"a product of input elements"};
  return times(read(term.args[1]), constant(term.args[0]));
}

// Whether a bound cuts off nothing that the output could hold, but for what floats near its end round to.
bool Linear::is_beyond_output(const Rational& bound, bool above) const {
  if (is_float(output_)) return false;
  const int digits = info(output_).bits - (is_signed_int(output_) ? 1 : 0);
  const double end = std::ldexp(1.0, digits), slack = digits > 16 ? std::ldexp(end, -24) : 0;
  const double at = static_cast<double>(bound.numerator) / static_cast<double>(bound.denominator);
  return above ? at >= end - 1 - slack : at <= (is_signed_int(output_) ? -end : 0);
}

// Clamping to the output's range, which the conversion to it would do.
Form Linear::clamped(const LaneTerm& term) {
  for (int i : {0, 1})
    if (graph_.is_constant(term.args[i]) && is_beyond_output(constant(term.args[i]), term.op == Op::min))
      return read(term.args[1 - i]);
  throw Unreadable{fmt::format("{} of input elements", info(term.op).text), !is_float(output_)};
}

// A constant for a NaN, or for what lies beyond the output's range.
Form Linear::chosen(const LaneTerm& term) {
  const LaneTerm& mask = graph_[term.args[0]];
  const bool is_guard =
      mask.kind == LaneTerm::Kind::op && mask.op == Op::cmp && graph_.is_constant(term.args[1]);
  const bool is_nan = is_guard && mask.pred == Predicate::un;
  const bool is_above = is_guard && mask.pred == Predicate::ge && graph_.is_constant(mask.args[1]) &&
                        is_beyond_output(constant(mask.args[1]), true);
  if (!is_nan && !is_above) throw Unreadable{"select of input elements", !is_float(output_)};
  return read(term.args[2]);
}

}  // namespace pooljit::ir
