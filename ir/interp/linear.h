// Linear: terms read as sums of input elements with rational weights, in exact arithmetic. What a Program
// rounds is ignored here: the reading proves which elements weigh how much, not how the sum is rounded.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/interp/terms.h"

namespace pooljit::ir {

__extension__ using Int128 = __int128;

// Always reduced, its denominator positive. Throws Unreadable where 64 bits do not hold it.
struct Rational {
  int64_t numerator = 0, denominator = 1;
  bool operator==(const Rational&) const = default;

  static Rational make(Int128 numerator, Int128 denominator);
};
Rational operator+(const Rational& a, const Rational& b);
Rational operator-(const Rational& a, const Rational& b);
Rational operator*(const Rational& a, const Rational& b);
Rational operator/(const Rational& a, const Rational& b);

struct Form {
  struct Weight {
    int64_t element;  // offset in bytes
    Rational weight;
    bool operator==(const Weight&) const = default;
  };
  std::vector<Weight> weights;  // by element, none of them 0
  Rational constant;
};

class Linear {
 public:
  // output: the type whose range a result may be clamped to.
  Linear(const TermGraph& graph, DType output) : graph_(graph), output_(output) {}
  const Form& read(TermId id);  // throws Unreadable

 private:
  Form make(TermId id);
  Form made_by(const LaneTerm& term);
  Form scaled(const LaneTerm& term, bool divides);
  Form clamped(const LaneTerm& term);
  Form chosen(const LaneTerm& term);
  bool is_beyond_output(const Rational& bound, bool above) const;
  Rational constant(TermId id) const;

  const TermGraph& graph_;
  DType output_;
  std::unordered_map<TermId, Form> forms_;
};

}  // namespace pooljit::ir
