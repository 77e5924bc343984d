#include "proof/program/stored_value.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "ir/agreement.h"
#include "ir/reductions/stored.h"
#include "ir/reference_epilogue.h"
#include "ir/window_taps.h"

namespace pooljit::ir {
namespace {

// The bits that a constant term of the dtype has for a lane of these.
template <typename T>
int64_t lane_of(T value) {
  if constexpr (sizeof(T) == 8) {
    int64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  } else {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return static_cast<int64_t>(bits);
  }
}

// Of either sign.
bool is_zero(DType dtype, int64_t bits) {
  return is_float(dtype) && (static_cast<uint64_t>(bits) & (~uint64_t{0} >> (65 - info(dtype).bits))) == 0;
}

}  // namespace

// A conversion of values; of bfloat16 also what passes write for it.
TermId StoredValue::cvt(TermId id, DType to, DType from) const {
  if (id == no_term) return no_term;
  if (to == DType::bf16 && from == DType::f32) return graph_.rounded_to_bf16(id);
  if (const TermId x = written_.converted_from(id, from, to); x != no_term) return x;
  return from == DType::bf16 && to == DType::f32 ? graph_.high_half(id) : no_term;
}

bool StoredValue::is_number(TermId id, DType dtype, double value) const {
  return graph_.is_constant(id) && graph_[id].imm == lane_bits(dtype, float_bits(dtype, value));
}

bool StoredValue::is_integer(TermId id, int64_t value) const {
  return graph_.is_constant(id) && graph_[id].imm == lane_bits(graph_[id].dtype, value);
}

bool StoredValue::is_nan_test(TermId mask, TermId of) const {
  const LaneTerm& term = graph_[mask];
  return term.kind == LaneTerm::Kind::op && term.op == Op::cmp && term.pred == Predicate::un &&
         term.args[0] == of && term.args[1] == of;
}

// x of op(x, value) or op(value, x), of integers.
TermId StoredValue::with_constant(TermId id, Op op, DType dtype, int64_t value) const {
  const auto pair = id == no_term ? std::nullopt : written_.picked_from(id, op, dtype);
  if (pair && is_integer(pair->a, value)) return pair->b;
  return pair && is_integer(pair->b, value) ? pair->a : no_term;
}

TermId StoredValue::converted_from(TermId id, DType from, DType to) const {
  if (id == no_term || from == to) return id;
  if (is_float(to)) return float_before(id, from, to);
  return is_float(from) ? rounded(id, from, to) : integer_before(id, from, to);
}

// To floats: halves by way of float32, short integers by way of int32.
TermId StoredValue::float_before(TermId id, DType from, DType to) const {
  if (is_half(to) && from != DType::f32) return converted_from(cvt(id, to, DType::f32), from, DType::f32);
  if (is_half(from) && to != DType::f32) return cvt(converted_from(id, DType::f32, to), DType::f32, from);
  if (!is_float(from) && bytes(from) < 4) return cvt(cvt(id, to, DType::i32), DType::i32, from);
  return cvt(id, to, from);
}

TermId StoredValue::integer_before(TermId id, DType from, DType to) const {
  const bool loses_sign = is_signed_int(from) && !is_signed_int(to);
  if (bytes(to) < bytes(from)) return narrowed(id, from, to);
  const TermId fitting = bytes(to) > bytes(from) ? cvt(id, to, from) : id;
  if (fitting == no_term) return no_term;
  if (loses_sign) return with_constant(fitting, Op::max, from, 0);
  return bytes(to) > bytes(from) ? fitting : with_constant(fitting, Op::min, from, integer_range(to).most);
}

// To fewer bits, clamped: in one, or by a minimum and a maximum.
TermId StoredValue::narrowed(TermId id, DType from, DType to) const {
  const LaneTerm* const term = graph_.op(id, Op::cvt, to);
  // What is not negative may be taken as unsigned.
  const bool is_unsigned = term && is_signed_int(from) && term->source() == unsigned_of(from);
  if (is_unsigned && term->saturate && !is_signed_int(to))
    return with_constant(term->args[0], Op::max, from, 0);
  if (!term || term->source() != from) return no_term;
  const TermId whole = term->args[0];
  if (term->saturate) return whole;
  const auto [least, most] = integer_range(to);
  if (!is_signed_int(from)) return with_constant(whole, Op::min, from, most);
  const TermId low = with_constant(with_constant(whole, Op::min, from, most), Op::max, from, least);
  return low != no_term ? low
                        : with_constant(with_constant(whole, Op::max, from, least), Op::min, from, most);
}

// Floats to integers, ties by the nest's rule: NaN is 0, and what lies beyond the range is its end. A maximum
// with the least takes a NaN for less, which is right for unsigned integers.
TermId StoredValue::rounded(TermId id, DType from, DType to) const {
  if (is_half(from)) return cvt(rounded(id, DType::f32, to), DType::f32, from);
  const DType wide = bytes(to) == 8 ? DType::f64 : from;
  const auto [least, most] = integer_range(to);
  const double end = std::ldexp(1.0, info(to).bits - (is_signed_int(to) ? 1 : 0));
  const bool has_most = bytes(to) < bytes(wide) || bytes(to) < 4;
  TermId whole = id, compared = no_term;
  if (!has_most) {
    const LaneTerm* const choice = graph_.op(id, Op::select, to);
    if (!choice || !is_integer(choice->args[1], most)) return no_term;
    const LaneTerm* const beyond = graph_.op(choice->args[0], Op::cmp, wide);
    if (!beyond || beyond->pred != Predicate::ge || !is_number(beyond->args[1], wide, end)) return no_term;
    compared = beyond->args[0], whole = choice->args[2];
  } else if (bytes(to) < 4) {
    whole = narrowed(id, DType::i32, to);
  }
  const DType integer = bytes(to) < 4 ? DType::i32 : to;
  const TermId clamped = nest_.rounding == RoundingRule::half_even
                             ? cvt(whole, integer, wide)
                             : written_.rounded_away_from(whole, wide, integer);
  const double highest = has_most ? end - 1 : end - std::ldexp(end, wide == DType::f32 ? -24 : -53);
  const LaneTerm* const high = graph_.op(clamped, Op::min, wide);
  if (!high || !is_number(high->args[1], wide, highest)) return no_term;
  const LaneTerm* const low = graph_.op(high->args[0], Op::max, wide);
  if (!low || !is_number(low->args[1], wide, static_cast<double>(least))) return no_term;
  TermId x = low->args[0];
  if (is_signed_int(to)) {
    const LaneTerm* const known = graph_.op(x, Op::select, wide);
    if (!known || !is_number(known->args[1], wide, 0) || !is_nan_test(known->args[0], known->args[2]))
      return no_term;
    x = known->args[2];
  }
  if (compared != no_term && compared != x) return no_term;
  return wide == from ? x : cvt(x, wide, from);
}

// --- steps

bool StoredValue::is_operand(TermId id, size_t number, const OutputElement& place) const {
  const View& view = operands_[number];
  const TermId element = converted_from(id, view.dtype, nest_.result_dtype());
  if (element == no_term || graph_[element].kind != LaneTerm::Kind::input) return false;
  const LaneTerm& term = graph_[element];
  const int64_t at = plane_offset(view, place.n, place.c) + position_offset(view, place.position);
  return term.dtype == view.dtype && term.imm == at * bytes(view.dtype) &&
         term.buffer == buffer_of(Param::Role::operand, static_cast<int64_t>(number));
}

TermId StoredValue::beside_operand(TermId id, Op op, size_t number, const OutputElement& place) const {
  const LaneTerm* const term = graph_.op(id, op, nest_.result_dtype());
  for (const int i : {1, 0})
    if (term && is_operand(term->args[i], number, place)) return term->args[1 - i];
  return no_term;
}

TermId StoredValue::beside_number(TermId id, Op op, double number) const {
  const DType dtype = nest_.result_dtype();
  const LaneTerm* const term = graph_.op(id, op, dtype);
  return term && is_number(term->args[1], dtype, number) ? term->args[0] : no_term;
}

// x of what relu makes of it.
TermId StoredValue::rectified(TermId id) const {
  const DType dtype = nest_.result_dtype();
  const LaneTerm* const choice = graph_.op(id, Op::select, dtype);
  if (!choice || !is_number(choice->args[1], dtype, 0)) return no_term;
  const LaneTerm* const test = graph_.op(choice->args[0], Op::cmp, dtype);
  const TermId x = choice->args[2];
  if (!test) return no_term;
  const bool is_le = test->pred == Predicate::le && test->args[0] == x && is_number(test->args[1], dtype, 0);
  const bool is_ge = test->pred == Predicate::ge && test->args[1] == x && is_number(test->args[0], dtype, 0);
  return is_le || is_ge ? x : no_term;
}

TermId StoredValue::before_part(TermId id, size_t number, const StepPart& part,
                                const OutputElement& place) const {
  const EpilogueStep& step = nest_.epilogue[number];
  const auto beside = [&](Op op) {
    return info(step.kind).numbers > 0
               ? beside_number(id, op, step.numbers[part.argument])
               : beside_operand(id, op, operand_count({nest_.epilogue.data(), number}) + part.argument,
                                place);
  };
  // The second operand stands where they are equal or one is a NaN.
  const auto behind = [&](Op op) {
    const LaneTerm* const term = graph_.op(id, op, nest_.result_dtype());
    return term && is_number(term->args[0], nest_.result_dtype(), step.numbers[part.argument]) ? term->args[1]
                                                                                               : no_term;
  };
  switch (part.kind) {
    case PartKind::rectify:
      return rectified(id);
    case PartKind::at_least:
      return behind(Op::max);
    case PartKind::at_most:
      return behind(Op::min);
    case PartKind::multiply:
      return beside(Op::mul);
    case PartKind::add:
      return beside(Op::add);
    case PartKind::divide:
      return beside(Op::div);
    case PartKind::store:
      if (number + 1 == nest_.epilogue.size()) return id;
      return converted_from(converted_from(id, nest_.output.dtype, nest_.result_dtype()),
                            nest_.result_dtype(), nest_.output.dtype);
  }
  return no_term;
}

TermId StoredValue::before_step(TermId id, size_t number, const OutputElement& place) const {
  const StepParts& parts = info(nest_.epilogue[number].kind).parts;
  for (const StepPart* part = parts.end(); part != parts.begin();)
    id = before_part(id, number, *--part, place);
  return id;
}

// --- constants

int64_t StoredValue::of_nothing(double nothing, size_t steps, bool is_stored) const {
  PoolNest nest = nest_;
  nest.epilogue.resize(steps);
  const auto as = [&]<typename T>(T result) {
    const T after = steps == 0 ? result : through_steps(nest, result, OperandValues<T>{});
    if (!is_stored) return lane_of(after);
    return with_element_type(
        nest.output.dtype, [&]<typename Out>(Out) { return lane_of(converted<Out>(after, nest.rounding)); });
  };
  return nest_.result_dtype() == DType::f64 ? as(nothing) : as(static_cast<float>(nothing));
}

void StoredValue::expect_nothing(TermId constant, double nothing, size_t steps, bool is_stored) const {
  const LaneTerm& term = graph_[constant];
  const int64_t expected = lane_bits(term.dtype, of_nothing(nothing, steps, is_stored));
  if (shares_zeros_of_any_sign(nest_) && is_zero(term.dtype, term.imm) && is_zero(term.dtype, expected))
    return;
  if (term.imm != expected)
    throw Unreadable{fmt::format("0x{:x} is stored where a window is empty", term.imm)};
}

TermId StoredValue::result(TermId stored, int64_t n, int64_t c, const std::vector<int64_t>& position,
                           double nothing) const {
  const size_t steps = nest_.epilogue.size();
  if (graph_.is_constant(stored)) return expect_nothing(stored, nothing, steps, true), no_term;
  TermId id = converted_from(stored, nest_.result_dtype(), nest_.output.dtype);
  if (id == no_term) throw Unreadable{"a conversion on store that has no reading", true};
  for (size_t left = steps; left-- > 0;) {
    if (graph_.is_constant(id)) return expect_nothing(id, nothing, left + 1, false), no_term;
    id = before_step(id, left, {n, c, position});
    if (id == no_term) throw Unreadable{fmt::format("step {} is not done as the nest says", left + 1)};
  }
  if (graph_.is_constant(id)) return expect_nothing(id, nothing, 0, false), no_term;
  return id;
}

}  // namespace pooljit::ir
