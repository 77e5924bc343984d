#include "proof/program/written_out.h"

#include <bit>
#include <cstdint>

#include "ir/check.h"
#include "ir/passes/pipeline.h"
#include "ir/reductions/quotient.h"
#include "ir/reductions/stored.h"

namespace pooljit::ir {
namespace {

constexpr int64_t operand_bytes = 64;
constexpr double two_52 = 4503599627370496.0;

bool is_lanes(const Type& type) { return type.kind == Type::Kind::vec || type.kind == Type::Kind::mask; }

}  // namespace

bool WrittenOut::has_bits(TermId id, int64_t bits) const {
  return graph_.is_constant(id) && graph_[id].imm == bits;
}

// A straight line: operands are loaded, the operation computed and stored, on as many lanes as a vector of
// the widest has.
const Program& WrittenOut::written(Kind kind, const std::vector<DType>& inputs, const Body& body) {
  if (const auto known = programs_.find(kind); known != programs_.end()) return known->second;
  Builder b("written_out", isa_);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const int lanes = info(isa_).vector_bytes / 8;
  std::vector<Value> operands;
  for (DType dtype : inputs)
    operands.push_back(b.load(Type::vec(dtype, lanes), {in, {}, operand_bytes * std::ssize(operands)}));
  b.store({out, {}, 0}, body(b, operands));
  b.ret();
  Program program = b.finish();
  if (is_legal_) {
    auto legal = legalize(std::move(program));
    POOLJIT_CHECK(legal.has_value(), "written_out");
    program = std::move(*legal);
  }
  return programs_.emplace(kind, std::move(program)).first->second;
}

TermId WrittenOut::write_out(Kind kind, const std::vector<TermId>& operands, const Body& body) {
  std::vector<DType> inputs;
  for (TermId operand : operands) inputs.push_back(graph_[operand].dtype);
  const Program& program = written(kind, inputs, body);
  Terms terms(program, graph_);
  for (const Inst& inst : program.insts) {
    if (inst.op == Op::load)
      terms.bind(inst.results[0], operands[static_cast<size_t>(inst.addr.offset / operand_bytes)]);
    else if (inst.op == Op::store)
      return terms.lane(inst.args[0], 0);
    else if (inst.results.size() == 1 && is_lanes(program.type(inst.results[0])))
      terms.compute(inst);
  }
  return no_term;
}

std::vector<TermId> WrittenOut::candidates(std::vector<TermGraph::Byte> low_bytes) {
  std::vector<TermId> all;
  const TermId whole = low_bytes[0].term;
  if (whole == no_term) return all;
  if (low_bytes[0].number == 0 && graph_[whole].dtype == DType::i64) all.push_back(whole);
  low_bytes.resize(8);
  all.push_back(graph_.from_bytes(DType::i64, low_bytes));
  return all;
}

// --- conversions

TermId WrittenOut::converted_from(TermId id, DType from, DType to) {
  if (const LaneTerm* const one = graph_.op(id, Op::cvt, to))
    if (!one->saturate && one->source() == from) return one->args[0];
  if (!is_legal_ || id == no_term) return no_term;
  if (from == DType::i64 && to == DType::f64) return from_i64_to_f64(id);
  if (from == DType::i64 && to == DType::f32) return from_i64_to_f32(id);
  if (from == DType::f64 && to == DType::i64) return from_f64_to_i64(id);
  return no_term;
}

// The operand, if its conversion is this term.
TermId WrittenOut::converts(Kind kind, TermId id, TermId operand, DType to) {
  const auto body = [&](Builder& b, const std::vector<Value>& operands) { return b.cvt(to, operands[0]); };
  return write_out(kind, {operand}, body) == id ? operand : no_term;
}

// high part + bits of the low 48 bits below those of 2^52.
TermId WrittenOut::from_i64_to_f64(TermId id) {
  const LaneTerm* const sum = graph_.op(id, Op::add, DType::f64);
  if (!sum || graph_[sum->args[1]].kind != LaneTerm::Kind::pack) return no_term;
  std::vector<TermGraph::Byte> low = graph_.bytes_of(sum->args[1]);
  low.resize(6);
  for (const TermId operand : candidates(low))
    if (converts(Kind::i64_to_f64, id, operand, DType::f64) != no_term) return operand;
  return no_term;
}

// By way of float64, of a choice between the number and one whose low bits are joined.
TermId WrittenOut::from_i64_to_f32(TermId id) {
  const LaneTerm* const narrowed = graph_.op(id, Op::cvt, DType::f32);
  if (!narrowed || narrowed->source() != DType::f64) return no_term;
  const LaneTerm* const chosen = graph_.op(from_i64_to_f64(narrowed->args[0]), Op::select, DType::i64);
  return chosen ? converts(Kind::i64_to_f32, id, chosen->args[1], DType::f32) : no_term;
}

// high digit << 32 + (bits of (number - high digit * 2^32 + 1.5 * 2^52) - bits of 1.5 * 2^52).
TermId WrittenOut::from_f64_to_i64(TermId id) {
  const LaneTerm* const sum = graph_.op(id, Op::add, DType::i64);
  const LaneTerm* const low = sum ? graph_.op(sum->args[1], Op::sub, DType::i64) : nullptr;
  if (!low || !has_bits(low->args[1], std::bit_cast<int64_t>(1.5 * two_52))) return no_term;
  const LaneTerm* const moved = graph_.op(low->args[0], Op::add, DType::f64);
  const LaneTerm* const rest = moved ? graph_.op(moved->args[0], Op::sub, DType::f64) : nullptr;
  return rest ? converts(Kind::f64_to_i64, id, rest->args[0], DType::i64) : no_term;
}

// Of a number to which half of one is added where it is such a tie.
TermId WrittenOut::rounded_away_from(TermId id, DType from, DType to) {
  const LaneTerm* const moved = graph_.op(converted_from(id, from, to), Op::add, from);
  if (!moved) return no_term;
  const Kind kind = from == DType::f32 ? Kind::away_f32_to_i32
                    : to == DType::i32 ? Kind::away_f64_to_i32
                                       : Kind::away_f64_to_i64;
  const auto body = [&](Builder& b, const std::vector<Value>& x) {
    return rounded(b, to, x[0], RoundingRule::half_away);
  };
  const auto [x, step] = std::pair(moved->args[0], moved->args[1]);
  for (const auto& [number, other] : {std::pair(x, step), std::pair(step, x)})
    if (graph_.op(other, Op::select, from) && write_out(kind, {number}, body) == id) return number;
  return no_term;
}

// --- minima and maxima

// A comparison that the instruction set lacks has its operands swapped.
std::optional<WrittenOut::Pair> WrittenOut::picked_from(TermId id, Op min_or_max, DType dtype) const {
  if (const LaneTerm* const one = graph_.op(id, min_or_max, dtype)) return Pair{one->args[0], one->args[1]};
  const LaneTerm* const chosen = is_legal_ && !is_float(dtype) ? graph_.op(id, Op::select, dtype) : nullptr;
  const LaneTerm* const test = chosen ? graph_.op(chosen->args[0], Op::cmp, dtype) : nullptr;
  if (!test) return std::nullopt;
  const bool is_swapped = (test->pred == Predicate::gt) != (min_or_max == Op::max);
  if (test->pred != Predicate::gt && test->pred != Predicate::lt) return std::nullopt;
  if (test->args[is_swapped ? 1 : 0] != chosen->args[1] || test->args[is_swapped ? 0 : 1] != chosen->args[2])
    return std::nullopt;
  return Pair{chosen->args[1], chosen->args[2]};
}

// --- digits

TermId WrittenOut::with_low_digit(TermId id) const {
  if (graph_[id].kind != LaneTerm::Kind::pack || graph_[id].dtype != DType::i64) return no_term;
  const std::vector<TermGraph::Byte> all = graph_.bytes_of(id);
  const TermId whole = all[0].term;
  if (whole == no_term || graph_[whole].dtype != DType::i64) return no_term;
  for (int i = 0; i < 8; ++i)
    if (all[static_cast<size_t>(i)] != (i < 4 ? TermGraph::Byte{whole, i} : TermGraph::Byte{}))
      return no_term;
  return whole;
}

// Without a signed shift: of the high digit with half of its range added, that half.
TermId WrittenOut::with_high_digit(TermId id) {
  if (const LaneTerm* const shifted = graph_.op(id, Op::shr, DType::i64))
    return shifted->imm == 32 ? shifted->args[0] : no_term;
  const LaneTerm* const less = is_legal_ ? graph_.op(id, Op::sub, DType::i64) : nullptr;
  if (!less) return no_term;
  const TermGraph::Byte lowest = graph_.bytes_of(less->args[0])[0];
  const LaneTerm* const above = graph_.op(lowest.term, Op::add, DType::i64);
  if (!above || lowest.number != 4) return no_term;
  const auto body = [](Builder& b, const std::vector<Value>& x) { return b.shift(Op::shr, x[0], 32); };
  const TermId number = above->args[0];
  return write_out(Kind::high_digit, {number}, body) == id ? number : no_term;
}

// --- products

// Low digits' product + crossed products << 32, of digits of 32 bits.
std::optional<WrittenOut::Pair> WrittenOut::product(TermId id) {
  const LaneTerm* const sum = is_legal_ ? graph_.op(id, Op::add, DType::i64) : nullptr;
  if (!sum) return std::nullopt;
  const LaneTerm* const low = graph_.op(graph_.bytes_of(sum->args[0])[0].term, Op::mull, DType::u64);
  if (!low) return std::nullopt;
  const auto factors = [&](int number) {
    std::vector<TermGraph::Byte> digit = graph_.bytes_of(low->args[number]);
    digit.resize(4);
    return candidates(digit);
  };
  const auto body = [](Builder& b, const std::vector<Value>& x) { return b.binary(Op::mul, x[0], x[1]); };
  for (const TermId a : factors(0))
    for (const TermId b : factors(1))
      if (write_out(Kind::product, {a, b}, body) == id) return Pair{a, b};
  return std::nullopt;
}

// --- quotients

// first quotient + second quotient, and a last step of at most one; of a small sum one quotient, with a step
// where ties go away from zero.
std::optional<WrittenOut::Quotient> WrittenOut::division(TermId id) {
  if (const auto small = small_division(id)) return small;
  const LaneTerm* const whole = graph_.op(id, Op::add, DType::i64);
  if (!whole || !graph_.op(whole->args[1], Op::select, DType::i64)) return std::nullopt;
  const LaneTerm* const both = graph_.op(whole->args[0], Op::add, DType::i64);
  if (!both) return small_division(whole->args[0]);
  const LaneTerm* const division =
      graph_.op(converted_from(both->args[0], DType::f64, DType::i64), Op::div, DType::f64);
  if (!division || !graph_.is_constant(division->args[1])) return std::nullopt;
  const Quotient found = {converted_from(division->args[0], DType::i64, DType::f64),
                          static_cast<int64_t>(std::bit_cast<double>(graph_[division->args[1]].imm))};
  if (found.dividend == no_term || found.divisor <= 0) return std::nullopt;
  return found;
}

// bits of (bits of (dividend + bits of 1.5 * 2^52) - 1.5 * 2^52) / divisor + 1.5 * 2^52.
std::optional<WrittenOut::Quotient> WrittenOut::small_division(TermId id) {
  const LaneTerm* const integer = graph_.op(id, Op::sub, DType::i64);
  const LaneTerm* const moved = integer ? graph_.op(integer->args[0], Op::add, DType::f64) : nullptr;
  const LaneTerm* const division = moved ? graph_.op(moved->args[0], Op::div, DType::f64) : nullptr;
  if (!division || !graph_.is_constant(division->args[1])) return std::nullopt;
  const LaneTerm* const number = graph_.op(division->args[0], Op::sub, DType::f64);
  const LaneTerm* const dividend = number ? graph_.op(number->args[0], Op::add, DType::i64) : nullptr;
  if (!dividend) return std::nullopt;
  const auto divisor = static_cast<int64_t>(std::bit_cast<double>(graph_[division->args[1]].imm));
  if (divisor <= 0) return std::nullopt;
  return Quotient{dividend->args[0], divisor, RoundingRule::half_even, SumSize::small};
}

std::optional<WrittenOut::Quotient> WrittenOut::quotient(TermId id) {
  auto found = division(id);
  if (!found || found->size == SumSize::small) return std::nullopt;
  const TermId divisor = graph_.constant(DType::i64, found->divisor);
  for (const RoundingRule ties : {RoundingRule::half_even, RoundingRule::half_away}) {
    const auto body = [&](Builder& b, const std::vector<Value>& x) {
      return rounded_quotient(b, x[0], x[1], ties);
    };
    const Kind kind = ties == RoundingRule::half_even ? Kind::quotient : Kind::quotient_away;
    found->ties = ties;
    if (write_out(kind, {found->dividend, divisor}, body) == id) return found;
  }
  return std::nullopt;
}

// high is the quotient of the high digit, low that of what this leaves and of the low digit.
std::optional<WrittenOut::WideQuotient> WrittenOut::divided(TermId id, TermId high, TermId low) {
  const auto of_high = division(high), of_rest = division(low);
  const LaneTerm* const carried = of_high ? graph_.op(of_high->dividend, Op::add, DType::i64) : nullptr;
  const LaneTerm* const rest = of_rest ? graph_.op(of_rest->dividend, Op::add, DType::i64) : nullptr;
  if (!carried || !rest || of_high->size != of_rest->size) return std::nullopt;
  const bool is_small = of_high->size == SumSize::small;
  std::vector<TermGraph::Byte> digit = graph_.bytes_of(rest->args[1]);
  digit.resize(4);
  const TermId high_sum = carried->args[0], divisor = graph_.constant(DType::i64, of_high->divisor);
  for (const RoundingRule ties : {RoundingRule::half_even, RoundingRule::half_away}) {
    const auto body = [&](Builder& b, const std::vector<Value>& x) {
      return rounded_quotient(b, WideSum{x[0], x[1]}, x[2], ties, {}, of_high->size);
    };
    const Kind to_even = is_small ? Kind::small_quotient : Kind::wide_quotient;
    const Kind away = is_small ? Kind::small_quotient_away : Kind::wide_quotient_away;
    const Kind kind = ties == RoundingRule::half_even ? to_even : away;
    for (const TermId low_sum : candidates(digit))
      if (write_out(kind, {high_sum, low_sum, divisor}, body) == id)
        return WideQuotient{high_sum, low_sum, of_high->divisor, ties, of_high->size};
  }
  return std::nullopt;
}

// Clamped, (high + carry) << 32 | low.
std::optional<WrittenOut::WideQuotient> WrittenOut::wide_quotient(TermId id) {
  const LaneTerm* const not_above = graph_.op(id, Op::select, DType::i64);
  const LaneTerm* const not_below =
      not_above ? graph_.op(not_above->args[2], Op::select, DType::i64) : nullptr;
  if (!not_below || !has_bits(not_above->args[1], INT64_MAX) || !has_bits(not_below->args[1], INT64_MIN))
    return std::nullopt;
  const LaneTerm& is_above = graph_[not_above->args[0]];
  const LaneTerm* const high = graph_.op(is_above.args[0], Op::add, DType::i64);
  if (!high) return std::nullopt;
  const TermId high_digit = high->args[0];
  std::vector<TermGraph::Byte> joined = graph_.bytes_of(not_below->args[2]);
  joined.resize(4);
  const auto undivided = [](Builder& b, const std::vector<Value>& x) {
    return rounded_quotient(b, WideSum{x[0], x[1]}, no_value);
  };
  for (const TermId low_digit : candidates(joined)) {
    // Quotients of digits are digits, too: this first.
    if (const auto found = divided(id, high_digit, low_digit)) return found;
    if (write_out(Kind::wide_sum, {high_digit, low_digit}, undivided) == id)
      return WideQuotient{high_digit, low_digit, 1};
  }
  return std::nullopt;
}

}  // namespace pooljit::ir
