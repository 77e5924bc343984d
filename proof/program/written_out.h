// Operations that lowering and passes write out in several instructions, read as one again: conversions that
// AVX2 lacks (ir/passes/expand_convert.cpp), those whose ties go away from zero (ir/reductions/stored.h),
// quotients of integers and the digits of int64 (ir/reductions/quotient.h).
//
// Nothing is read by its looks alone. The operands that the operation would have are taken from the term.
// Then the same functions write the operation out for these, in the Program's instruction set. The term is
// read as the operation only if that makes the very same term. That the written code is the operation is a
// lemma, checked by the test proof.lemmas.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ir/builder.h"
#include "ir/nest.h"
#include "ir/reductions/quotient.h"
#include "proof/program/terms.h"

namespace pooljit::ir {

class WrittenOut {
 public:
  // Of a Program for the ISA, or of machine code made from it; is_legal: passes have made it legal.
  WrittenOut(Isa isa, bool is_legal, TermGraph& graph) : graph_(graph), isa_(isa), is_legal_(is_legal) {}

  // The number of type `from` that this is, converted to `to` without saturation; no_term: it is none. Of
  // conversions in one instruction, and between int64 and floats.
  TermId converted_from(TermId id, DType from, DType to);

  // The float of which this is the nearest integer, ties away from zero; no_term.
  TermId rounded_away_from(TermId id, DType from, DType to);

  // The operands of a minimum or maximum, also of one that is written as a comparison and a choice.
  struct Pair {
    TermId a, b;
  };
  std::optional<Pair> picked_from(TermId id, Op min_or_max, DType dtype) const;

  // The int64 of which this is the low digit of base 2^32, or the high one, with the sign; no_term.
  TermId with_low_digit(TermId id) const;
  TermId with_high_digit(TermId id);

  // The factors of a product of 64 bits that is written as products of its parts.
  std::optional<Pair> product(TermId id);

  // The nearest integer to dividend / divisor.
  struct Quotient {
    TermId dividend = no_term;
    int64_t divisor = 1;
    RoundingRule ties = RoundingRule::half_even;
    SumSize size = SumSize::any;
  };
  std::optional<Quotient> quotient(TermId id);
  // The nearest integer to (high * 2^32 + low) / divisor, clamped to int64.
  struct WideQuotient {
    TermId high = no_term, low = no_term;
    int64_t divisor = 1;
    RoundingRule ties = RoundingRule::half_even;
    SumSize size = SumSize::any;
  };
  std::optional<WideQuotient> wide_quotient(TermId id);

 private:
  using Body = std::function<Value(Builder&, const std::vector<Value>&)>;
  enum class Kind : uint8_t {
    i64_to_f64,
    i64_to_f32,
    f64_to_i64,
    away_f32_to_i32,
    away_f64_to_i32,
    away_f64_to_i64,
    high_digit,
    product,
    quotient,
    quotient_away,
    wide_sum,
    wide_quotient,
    wide_quotient_away,
    small_quotient,
    small_quotient_away
  };

  bool has_bits(TermId id, int64_t bits) const;
  const Program& written(Kind kind, const std::vector<DType>& inputs, const Body& body);
  // The term that the operation has of these operands.
  TermId write_out(Kind kind, const std::vector<TermId>& operands, const Body& body);
  TermId converts(Kind kind, TermId id, TermId operand, DType to);
  TermId from_i64_to_f64(TermId id);
  TermId from_i64_to_f32(TermId id);
  TermId from_f64_to_i64(TermId id);
  // The operands that a quotient would have, by its looks.
  std::optional<Quotient> division(TermId id);
  std::optional<Quotient> small_division(TermId id);
  std::optional<WideQuotient> divided(TermId id, TermId high, TermId low);
  // The terms that an int64 with these low bytes may be: the ones that the bytes are of, or these bytes
  // alone.
  std::vector<TermId> candidates(std::vector<TermGraph::Byte> low_bytes);

  TermGraph& graph_;
  Isa isa_;
  bool is_legal_;
  std::map<Kind, Program> programs_;
};

}  // namespace pooljit::ir
