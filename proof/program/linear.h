// Linear: terms read as sums of input elements with rational weights, in exact arithmetic. Roundings
// of the Program are ignored here: the reading proves which elements weigh how much, not how the sum is
// rounded. That no sum or product of integers overflows, whatever the elements are, is a part of it.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "proof/program/rounded_product.h"
#include "proof/program/terms.h"
#include "proof/program/written_out.h"

namespace pooljit::ir {

__extension__ using Int128 = __int128;

// Always reduced, its denominator positive. Throws Unreadable where 64 bits do not hold it.
struct Rational {
  int64_t numerator = 0, denominator = 1;
  bool operator==(const Rational&) const = default;

  static Rational make(Int128 numerator, Int128 denominator);
  static Rational exactly(double value);  // a whole number times a power of two
  // 1 / k, if this is the float of a dtype that 1 / k is rounded to, for small odd k; else exactly.
  static Rational meant(DType dtype, double value);
};
Rational operator+(const Rational& a, const Rational& b);
Rational operator-(const Rational& a, const Rational& b);
Rational operator*(const Rational& a, const Rational& b);
Rational operator/(const Rational& a, const Rational& b);

struct LinearForm {
  // Of an int64 perhaps one digit of base 2^32. Where both weigh what they do in the number, it is whole.
  enum class Part : uint8_t { whole, high, low };
  struct Weight {
    int64_t element;  // offset in bytes
    Rational weight;
    Part part = Part::whole;
    bool operator==(const Weight&) const = default;
  };
  std::vector<Weight> weights;  // by element and part, none of them 0
  Rational constant;
  // How ties were rounded where it is rounded to an integer; none: there are no ties.
  std::optional<RoundingRule> ties = RoundingRule::half_even;
  bool operator==(const LinearForm&) const = default;
  LinearForm times(const Rational& factor) const;
  LinearForm plus(const LinearForm& other) const;
  LinearForm without_constant() const;
  LinearForm with_ties(std::optional<RoundingRule> rule) const;
};

// Integers of 16 bits, whose sums and products with constants are the same bits with and without a sign.
constexpr bool is_short(DType dtype) { return dtype == DType::u16 || dtype == DType::i16; }

class Linear {
 public:
  // input: the elements' type; output: the type whose range a result may be clamped to; is_open: a Program
  // that cannot be read may well be right.
  Linear(const TermGraph& graph, WrittenOut& written, DType input, DType output, bool is_open)
      : graph_(graph), written_(written), input_(input), output_(output), is_open_(is_open) {}
  // Throws Unreadable.
  const LinearForm& read(TermId id);

 private:
  // Of a term that is taken as this type: bits of another one are no number.
  const LinearForm& read_as(DType dtype, TermId id);
  // Of 16 bits the number that the term's bits are modulo 2^16, whatever its sign; else as read().
  const LinearForm& form(TermId id);
  LinearForm make(TermId id);
  LinearForm made_by(TermId id);
  LinearForm computed(TermId id);
  // Of what a form may be.
  struct Range {
    long double low, high;
  };
  Range range(const LinearForm& form) const;
  bool fits(const LinearForm& form, DType dtype) const;
  void expect_below(const LinearForm& form, long double most) const;
  LinearForm converted(TermId id, DType from, TermId x);
  std::optional<LinearForm> digit(TermId id);
  // of_low_byte: what lies above it does not count.
  std::optional<LinearForm> short_quotient(TermId id);
  std::optional<LinearForm> by_reciprocal(TermId id, bool of_low_byte);
  std::optional<LinearForm> by_power_of_two(TermId id, bool of_low_byte);
  const LaneTerm* short_op(TermId id, Op op) const;
  // number * factor >> shift
  struct ShortProduct {
    TermId number;
    DType dtype;
    int64_t factor, shift;
    // Of what this form of the number is without its constant.
    RoundedProducts::Product of(const LinearForm& form) const {
      return {form.constant.numerator, factor, shift};
    }
  };
  std::optional<ShortProduct> short_product(TermId id, bool of_low_byte) const;
  struct Rounded {
    TermId bit = no_term;      // whose lowest bit is added
    TermId of_bit = no_term;   // what that is shifted from
    TermId of_sign = no_term;  // 1 is taken off where this is negative
    int64_t constant = 0;
    std::vector<TermId> others = {};
    int depth = 0;
  };
  void take_rounded(TermId id, Rounded& sum) const;
  LinearForm without_bit(const Rounded& parts, DType dtype);
  LinearForm half_moved(const Rounded& parts);
  const LinearForm& summand(DType dtype, TermId id);
  std::optional<LinearForm> written_out(TermId id);
  LinearForm scaled(const LaneTerm& term, bool divides);
  std::optional<LinearForm> clamped(TermId id);
  LinearForm chosen(const LaneTerm& term);
  bool is_beyond_output(TermId bound, bool above) const;
  Rational constant(TermId id) const;
  Rational factor(TermId id) const;

  const TermGraph& graph_;
  WrittenOut& written_;
  DType input_, output_;
  bool is_open_;
  Readings<LinearForm> forms_;
  RoundedProducts products_;
};

}  // namespace pooljit::ir
