#include "proof/bytes/term_domain.h"

#include <algorithm>

namespace pooljit::jit::x86 {
namespace {

using ir::DType, ir::LaneTerm, ir::Op, ir::TermId, ir::Unreadable;
using Byte = TermDomain::Byte;

// Bytes of the widest element that may begin there.
int widest_at(int at) {
  int width = 8;
  while (at % width != 0) width /= 2;
  return width;
}

// What a choice between two numbers, as of indices, is taken as.
DType number_type(int width) { return width == 1 ? DType::u8 : signed_of_width(width); }

bool is_apart(const Byte& byte) { return byte == TermDomain::apart; }
bool any_apart(const Byte* bytes, int width) { return std::any_of(bytes, bytes + width, is_apart); }

bool all_known(const Byte* bytes, int width) {
  return std::all_of(bytes, bytes + width, [](const Byte& byte) { return byte.term == ir::no_term; });
}

uint64_t number_of(const Byte* bytes, int width) {
  uint64_t number = 0;
  for (int i = 0; i < width; ++i) number |= static_cast<uint64_t>(bytes[i].number) << 8 * i;
  return number;
}

void put_number(uint64_t number, Byte* to, int width) {
  for (int i = 0; i < width; ++i) to[i] = TermDomain::constant(static_cast<uint8_t>(number >> 8 * i));
}

}  // namespace

bool TermDomain::is_mask(const Byte* bytes, int width) const {
  return is_mask(bytes[0].term) &&
         std::all_of(bytes, bytes + width, [&](const Byte& byte) { return byte == bytes[0]; });
}
bool TermDomain::has_mask(const Byte* bytes, int width) const {
  return std::any_of(bytes, bytes + width, [&](const Byte& byte) { return is_mask(byte.term); });
}

ir::TermId TermDomain::term_of(DType dtype, const Byte* bytes) {
  const int width = ir::bytes(dtype);
  if (has_mask(bytes, width)) {
    if (const TermId number = number_with_mask(dtype, bytes); number != ir::no_term) return number;
    throw Unreadable{"a mask of which a part is taken", true};
  }
  // Bits that are put together have no sign and no exponent yet.
  const bool is_put_together = ir::is_float(dtype) && !all_known(bytes, width);
  return graph_.from_bytes(is_put_together ? unsigned_of_width(width) : dtype, {bytes, bytes + width});
}

// Where a mask's bytes lie among numbers it is a choice between two numbers; no_term: there is more.
TermId TermDomain::number_with_mask(DType dtype, const Byte* bytes) {
  const int width = ir::bytes(dtype);
  TermId mask = ir::no_term;
  uint64_t set = 0, clear = 0;
  for (int i = 0; i < width; ++i) {
    const std::optional<uint8_t> number = known(bytes[i]);
    if (!number && (!is_mask(bytes[i].term) || (mask != ir::no_term && mask != bytes[i].term)))
      return ir::no_term;
    if (!number) mask = bytes[i].term;
    set |= uint64_t{number.value_or(0xff)} << 8 * i, clear |= uint64_t{number.value_or(0)} << 8 * i;
  }
  return graph_.apply({.kind = LaneTerm::Kind::op,
                       .op = Op::select,
                       .dtype = dtype,
                       .args = {mask, graph_.constant(dtype, static_cast<int64_t>(set)),
                                graph_.constant(dtype, static_cast<int64_t>(clear))}},
                      false);
}

void TermDomain::put(TermId id, bool as_mask, Byte* to, int width) {
  if (as_mask && !graph_.is_constant(id)) {
    if (std::ssize(masks_) <= id) masks_.resize(static_cast<size_t>(id) * 2 + 1);
    masks_[static_cast<size_t>(id)] = true;
    std::fill_n(to, width, Byte{id, 0});
    return;
  }
  const std::vector<Byte> bytes = graph_.bytes_of(id);
  for (int i = 0; i < width; ++i)
    to[i] = static_cast<size_t>(i) < bytes.size() ? bytes[static_cast<size_t>(i)] : Byte{};
}

void TermDomain::lane(const LaneOp& op, std::array<const Byte*, 3> args, Byte* to) {
  const int from = ir::bytes(op.from), width = ir::bytes(op.type), count = operands(op.op);
  std::optional<TakenOperand<Byte>> taken;
  if (any_apart(args[0], from)) taken.emplace(op, args);
  for (int i = 0; i < count; ++i)
    if (any_apart(args[static_cast<size_t>(i)], from)) return void(std::fill_n(to, width, apart));
  if (std::all_of(args.begin(), args.begin() + count,
                  [&](const Byte* arg) { return all_known(arg, from); })) {
    std::array<uint64_t, 3> numbers = {};
    for (int i = 0; i < count; ++i)
      numbers[static_cast<size_t>(i)] = number_of(args[static_cast<size_t>(i)], from);
    return put_number(compute(op, numbers), to, width);
  }
  const bool is_integer_cvt = op.op == Op::cvt && !ir::is_float(op.type) && !ir::is_float(op.from);
  // With its sign a mask stays one.
  const bool keeps_masks = ir::is_signed_int(op.from) && ir::is_signed_int(op.type) &&
                           (is_integer_cvt || op.op == Op::shr ||
                            (op.op == Op::cmp && op.pred == ir::Predicate::lt && all_known(args[1], from) &&
                             number_of(args[1], from) == 0));
  if (keeps_masks && is_mask(args[0], from)) return void(std::fill_n(to, width, args[0][0]));
  if (is_integer_cvt && width > from && !ir::is_signed_int(op.from)) {
    std::fill(std::copy_n(args[0], from, to), to + width, constant(0));
    return;
  }
  LaneTerm term = {.kind = LaneTerm::Kind::op,
                   .op = op.op,
                   .dtype = op.type,
                   .pred = op.pred,
                   .saturate = op.saturate,
                   .imm = op.op == Op::cvt ? static_cast<int64_t>(op.from) : op.imm};
  DType operand = op.from;
  // Without a sign where an operand has none: the processor does not tell.
  const bool has_no_sign = op.op == Op::add || op.op == Op::sub || op.op == Op::mul;
  for (int i = 0; has_no_sign && i < count; ++i) {
    const Byte& first = *args[static_cast<size_t>(i)];
    if (ir::is_signed_int(op.type) && first.term != ir::no_term &&
        graph_[first.term].dtype == unsigned_of_width(width))
      operand = term.dtype = unsigned_of_width(width);
  }
  for (int i = 0; i < count; ++i) term.args[i] = term_of(operand, args[static_cast<size_t>(i)]);
  if (const TermId chosen = of_chosen_numbers(op, term, count); chosen != ir::no_term)
    return put(chosen, op.op == Op::cmp, to, width);
  if (term.saturate) {
    // Clamped to a wider signed type before: at once.
    const LaneTerm& before = graph_[term.args[0]];
    if (before.kind == LaneTerm::Kind::op && before.op == Op::cvt && before.saturate &&
        before.dtype == op.from && ir::is_signed_int(op.from))
      term.imm = before.imm, term.args[0] = before.args[0];
  }
  put(graph_.apply(term, op.op == Op::cmp), op.op == Op::cmp, to, width);
}

// An operation on a choice between two numbers, and on numbers, is one between its results.
TermId TermDomain::of_chosen_numbers(const LaneOp& op, const LaneTerm& term, int count) {
  TermId mask = ir::no_term;
  std::array<uint64_t, 3> if_set = {}, if_clear = {};
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const LaneTerm& arg = graph_[term.args[i]];
    const bool is_number = arg.kind == LaneTerm::Kind::constant;
    const bool is_choice = arg.kind == LaneTerm::Kind::op && arg.op == Op::select &&
                           graph_.is_constant(arg.args[1]) && graph_.is_constant(arg.args[2]) &&
                           (mask == ir::no_term || mask == arg.args[0]);
    if (!is_number && !is_choice) return ir::no_term;
    if (is_choice) mask = arg.args[0];
    if_set[i] = static_cast<uint64_t>(is_number ? arg.imm : graph_[arg.args[1]].imm);
    if_clear[i] = static_cast<uint64_t>(is_number ? arg.imm : graph_[arg.args[2]].imm);
  }
  if (mask == ir::no_term) return ir::no_term;
  const auto set = static_cast<int64_t>(compute(op, if_set)),
             clear = static_cast<int64_t>(compute(op, if_clear));
  if (op.op == Op::cmp)  // its mask, or none of the kind
    return set != 0 && clear == 0 ? mask : ir::no_term;
  return graph_.apply({.kind = LaneTerm::Kind::op,
                       .op = Op::select,
                       .dtype = term.dtype,
                       .args = {mask, graph_.constant(term.dtype, set), graph_.constant(term.dtype, clear)}},
                      false);
}

std::optional<TermDomain::Chunk> TermDomain::chunk(const Byte* bytes, int width, Takes takes) {
  const DType dtype = unsigned_of_width(width);
  if (all_known(bytes, width))
    return Chunk{.is_known = true,
                 .term = graph_.constant(dtype, static_cast<int64_t>(number_of(bytes, width)))};
  if (is_mask(bytes, width)) return Chunk{.is_mask = true, .term = bytes[0].term};
  if (has_mask(bytes, width)) {
    const TermId number = takes == Takes::any ? number_with_mask(dtype, bytes) : ir::no_term;
    return number != ir::no_term ? std::optional(Chunk{.term = number}) : std::nullopt;
  }
  // A part of a wider one, or of several.
  const bool is_part = bytes[0].term != ir::no_term && ir::bytes(graph_[bytes[0].term].dtype) > width;
  if (is_part && takes == Takes::whole) return std::nullopt;
  const TermId id = graph_.from_bytes(dtype, {bytes, bytes + width});
  // Bytes that are put together, but for the high half of a word, which is rounded to bfloat16.
  if (width > 1 && takes != Takes::any && graph_[id].kind == LaneTerm::Kind::pack &&
      (width > 4 || graph_.whole_of(id) == ir::no_term))
    return std::nullopt;
  return Chunk{.term = id};
}

TermId TermDomain::combined(Op op, DType dtype, TermId a, TermId b, bool makes_mask) {
  return graph_.apply({.kind = LaneTerm::Kind::op, .op = op, .dtype = dtype, .args = {a, b, ir::no_term}},
                      makes_mask);
}

// A number among the two takes the other's type; what was compared takes that of the comparison.
TermId TermDomain::choice(TermId mask, const Chunk& a, const Chunk& b) {
  const LaneTerm& test = graph_[mask];
  const auto is_compared = [&](const Chunk& chunk) {
    return !chunk.is_known && test.op == Op::cmp &&
           (chunk.term == test.args[0] || chunk.term == test.args[1]);
  };
  const DType dtype = a.is_known && b.is_known           ? number_type(ir::bytes(graph_[a.term].dtype))
                      : is_compared(a) || is_compared(b) ? test.dtype
                                                         : graph_[a.is_known ? b.term : a.term].dtype;
  const auto typed = [&](const Chunk& chunk) {
    return chunk.is_known ? graph_.constant(dtype, graph_[chunk.term].imm) : chunk.term;
  };
  return graph_.apply(
      {.kind = LaneTerm::Kind::op, .op = Op::select, .dtype = dtype, .args = {mask, typed(a), typed(b)}},
      false);
}

bool TermDomain::bits_with_mask(BitOp op, const Chunk& a, const Chunk& b, Byte* to, int width) {
  const DType dtype = unsigned_of_width(width);
  const Chunk none{.is_known = true, .term = graph_.constant(dtype, 0)},
      all{.is_known = true, .term = graph_.constant(dtype, -1)};
  const Chunk &mask = a.is_mask ? a : b, &other = a.is_mask ? b : a;
  const auto is = [&](const Chunk& chunk, const Chunk& number) {
    return chunk.is_known && graph_[chunk.term].imm == graph_[number.term].imm;
  };
  const auto chosen = [&](const Chunk& x, const Chunk& y) {
    if (is(x, all) && is(y, none)) return put(mask.term, true, to, width), true;
    if (x.is_mask || y.is_mask) return false;
    return put(choice(mask.term, x, y), false, to, width), true;
  };
  if (op == BitOp::and_ || op == BitOp::or_) {
    if (other.is_mask) {
      const Op both = op == BitOp::and_ ? Op::and_ : Op::or_;
      return put(combined(both, graph_[a.term].dtype, a.term, b.term, true), true, to, width), true;
    }
    return op == BitOp::and_ ? chosen(other, none) : is(other, none) ? chosen(all, none) : chosen(all, other);
  }
  if (op == BitOp::and_not && a.is_mask) return chosen(none, b);
  return false;
}

// None: no byte is apart, and the chunk is one of terms. Else whether it could be done: bytes of both kinds
// are done one by one.
std::optional<bool> TermDomain::bits_apart(BitOp op, const Byte* a, const Byte* b, Byte* to, int width) {
  if (!any_apart(a, width) && !any_apart(b, width)) return std::nullopt;
  if (width > 1) {
    const bool all = std::all_of(a, a + width, is_apart) && std::all_of(b, b + width, is_apart);
    if (all) std::fill_n(to, width, apart);
    return all;
  }
  const auto kept = kept_by(op, known(*a), known(*b));
  *to = !kept              ? apart
        : *kept == Kept::a ? *a
        : *kept == Kept::b ? *b
                           : constant(*kept == Kept::ones ? 0xff : 0);
  return true;
}

bool TermDomain::bits_of_chunk(BitOp op, const Byte* a, const Byte* b, Byte* to, int width, Takes takes) {
  if (const auto done = bits_apart(op, a, b, to, width)) return *done;
  if (op == BitOp::xor_ && std::equal(a, a + width, b)) return put_number(0, to, width), true;
  if (all_known(a, width) && all_known(b, width))
    return put_number(combine(op, number_of(a, width), number_of(b, width)), to, width), true;
  std::optional<Chunk> x = chunk(a, width, takes), y = chunk(b, width, takes);
  if (!x || !y) return false;
  if (x->is_mask || y->is_mask) return bits_with_mask(op, *x, *y, to, width);
  const DType dtype = unsigned_of_width(width);
  if (op == BitOp::and_not) {
    if (!x->is_known) return false;
    x->term = graph_.constant(dtype, ~graph_[x->term].imm);
    op = BitOp::and_;
  }
  if (op == BitOp::xor_) {
    // The highest bit turned: less half of the range.
    const Chunk &number = x->is_known ? *x : *y, &other = x->is_known ? *y : *x;
    const TermId half = graph_.constant(dtype, int64_t{1} << (8 * width - 1));
    if (number.term == half)
      return put(combined(Op::sub, dtype, other.term, half, false), false, to, width), true;
    if (number.is_known && graph_[number.term].imm == 0) return put(other.term, false, to, width), true;
    return false;
  }
  put(combined(op == BitOp::and_ ? Op::and_ : Op::or_, dtype, x->term, y->term, false), false, to, width);
  return true;
}

void TermDomain::bits(BitOp op, const Byte* a, const Byte* b, Byte* to, int count) {
  for (int at = 0; at < count;) {
    int taken = 0;
    for (const Takes takes : {Takes::parts, Takes::any})
      for (int width = widest_at(at); width > 0 && taken == 0; width /= 2)
        if (bits_of_chunk(op, a + at, b + at, to + at, width, takes)) taken = width;
    if (taken == 0) throw Unreadable{"bits that are put together in a way that no term says", true};
    at += taken;
  }
}

TermId TermDomain::is_negative(const Byte* bytes, int width) {
  const DType dtype = signed_of_width(width);
  return graph_.apply({.kind = LaneTerm::Kind::op,
                       .op = Op::cmp,
                       .dtype = dtype,
                       .pred = ir::Predicate::lt,
                       .args = {term_of(dtype, bytes), graph_.constant(dtype, 0), ir::no_term}},
                      true);
}

bool TermDomain::choose_chunk(const Byte* mask, const Byte* a, const Byte* b, Byte* to, int width,
                              int mask_width, Takes takes) {
  const auto top = [&](int at) { return mask[at + mask_width - 1]; };
  for (int at = mask_width; at < width; at += mask_width) {
    const bool same = known(top(0)) && known(top(at)) ? (*known(top(0)) & 0x80) == (*known(top(at)) & 0x80)
                                                      : top(0) == top(at);
    if (!same) return false;
  }
  if (const auto number = known(top(0))) {
    std::copy_n((*number & 0x80) != 0 ? a : b, width, to);
    return true;
  }
  if (is_apart(top(0)) || any_apart(a, width) || any_apart(b, width)) {
    if (width > mask_width) return false;  // beside lanes that are not, perhaps
    std::fill_n(to, width, apart);
    return true;
  }
  if (std::equal(a, a + width, b)) return std::copy_n(a, width, to), true;
  if (!is_mask(top(0).term) && width > mask_width) return false;  // each lane's own sign
  const TermId test = is_mask(top(0).term) ? top(0).term : is_negative(mask, mask_width);
  const auto x = chunk(a, width, takes), y = chunk(b, width, takes);
  if (!x || !y || x->is_mask || y->is_mask) return false;
  put(choice(test, *x, *y), false, to, width);
  return true;
}

void TermDomain::choose(const Byte* mask, const Byte* a, const Byte* b, Byte* to, int count, int width) {
  for (int at = 0; at < count;) {
    const int most = widest_at(at);
    const Byte top = mask[at + width - 1];
    const auto take = [&](int chunk, Takes takes) {
      if (chunk < width || chunk > most) return false;
      if (!choose_chunk(mask + at, a + at, b + at, to + at, chunk, width, takes)) return false;
      at += chunk;
      return true;
    };
    // Whole elements of any width, else what is put together, as wide as what was compared.
    bool is_taken = false;
    for (int chunk = most; chunk >= width && !is_taken; chunk /= 2) is_taken = take(chunk, Takes::whole);
    if (!is_taken && top.term != ir::no_term && !is_apart(top))
      is_taken = take(ir::bytes(graph_[top.term].dtype), Takes::any) || take(width, Takes::any);
    if (!is_taken) throw Unreadable{"a choice of parts of elements", true};
  }
}

}  // namespace pooljit::jit::x86
