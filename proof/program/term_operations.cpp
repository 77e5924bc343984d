// Operations on lanes as terms: as they are, or as the simpler ones that they are.
#include <algorithm>

#include "proof/program/terms.h"

namespace pooljit::ir {
namespace {

// Whether each value of `inner` fits into `outer`, both integers.
bool fits(DType inner, DType outer) {
  if (inner == outer) return true;
  if (is_float(inner) || is_float(outer)) return false;
  const bool room = bytes(inner) < bytes(outer);
  return is_signed_int(inner) ? room && is_signed_int(outer) : room;
}

}  // namespace

TermId TermGraph::apply(const LaneTerm& term, bool makes_mask) {
  if (term.op == Op::select) return select_lane(term);
  if (term.op == Op::propagate) return propagate_lane(term);
  if (term.op == Op::bitcast) return term.args[0];
  if (makes_mask && term.op != Op::cmp) return mask_lane(term);
  if (term.op == Op::and_ || term.op == Op::or_ || term.op == Op::shl || term.op == Op::shr)
    return bytes_lane(term);
  if (term.op != Op::cvt) return add(term);
  const LaneTerm& from = (*this)[term.args[0]];
  // Narrowed again to what it was widened from, or to what it fits into.
  if (from.kind == LaneTerm::Kind::op && from.op == Op::cvt && from.source() == term.dtype &&
      term.source() == from.dtype && fits(term.dtype, from.dtype))
    return from.args[0];
  // What has zeros above is not clamped.
  const bool fits_already = !is_float(term.dtype) && info(term.dtype).cls == DTypeClass::unsigned_int &&
                            used_bytes(term.args[0]) <= bytes(term.dtype);
  if (term.keeps_low_bytes() && (!term.saturate || fits_already)) {
    std::vector<Byte> low = bytes_of(term.args[0]);
    low.resize(static_cast<size_t>(bytes(term.dtype)));
    return from_bytes(term.dtype, low);
  }
  return add(term);
}

TermId TermGraph::mask_lane(const LaneTerm& term) {
  for (int i : {0, 1}) {
    if (!is_constant(term.args[i])) continue;
    const bool is_set = (*this)[term.args[i]].imm != 0;
    if (is_set == (term.op == Op::and_)) return term.args[1 - i];
    return term.args[i];
  }
  return add(term);
}

TermId TermGraph::select_lane(const LaneTerm& term) {
  if (is_constant(term.args[0])) return term.args[(*this)[term.args[0]].imm != 0 ? 1 : 2];
  return term.args[1] == term.args[2] ? term.args[1] : add(term);
}

// As the choice that it is.
TermId TermGraph::propagate_lane(const LaneTerm& term) {
  const TermId x = term.args[0];
  const TermId is_nan = add({.kind = LaneTerm::Kind::op,
                             .op = Op::cmp,
                             .dtype = term.dtype,
                             .pred = Predicate::un,
                             .args = {x, x, no_term}});
  return select_lane(
      {.kind = LaneTerm::Kind::op, .op = Op::select, .dtype = term.dtype, .args = {is_nan, x, term.args[1]}});
}

// What is left of a signed integer whose low bytes are shifted out, with its sign: a whole narrower one is
// widened.
TermId TermGraph::extended_lane(const LaneTerm& term, const std::vector<Byte>& left) {
  if (left.size() != 1 && left.size() != 2 && left.size() != 4) return add(term);
  const DType narrow = left.size() == 1 ? DType::i8 : left.size() == 2 ? DType::i16 : DType::i32;
  const TermId number = from_bytes(narrow, left);
  if (narrow == term.dtype) return number;
  if ((*this)[number].dtype != narrow || (*this)[number].kind == LaneTerm::Kind::pack) return add(term);
  return add({.kind = LaneTerm::Kind::op,
              .op = Op::cvt,
              .dtype = term.dtype,
              .imm = static_cast<int64_t>(narrow),
              .args = {number, no_term, no_term}});
}

// And with bytes of all ones or zeros, or with bytes of zeros, and shifts by whole bytes move bytes.
TermId TermGraph::bytes_lane(const LaneTerm& term) {
  std::vector<Byte> a = bytes_of(term.args[0]);
  if (term.op == Op::shl || term.op == Op::shr) {
    const bool is_logical = term.op == Op::shl || info(term.dtype).cls == DTypeClass::unsigned_int;
    if (term.imm % 8 != 0) return add(term);
    const auto by = std::min(static_cast<size_t>(term.imm / 8), a.size());
    const auto cut = static_cast<std::ptrdiff_t>(by);
    if (!is_logical) return extended_lane(term, {a.begin() + cut, a.end()});
    if (term.op == Op::shr) {
      a.erase(a.begin(), a.begin() + cut);
      a.insert(a.end(), by, {});
    } else {
      a.erase(a.end() - cut, a.end());
      a.insert(a.begin(), by, {});
    }
    return from_bytes(term.dtype, a);
  }
  const std::vector<Byte> b = bytes_of(term.args[1]);
  const int64_t keeps = term.op == Op::and_ ? 0xff : 0, kills = 0xff - keeps;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto is = [](const Byte& byte, int64_t value) {
      return byte.term == no_term && byte.number == value;
    };
    if (is(a[i], keeps) || is(b[i], kills))
      a[i] = b[i];
    else if (!is(b[i], keeps) && !is(a[i], kills))
      return add(term);
  }
  return from_bytes(term.dtype, a);
}

}  // namespace pooljit::ir
