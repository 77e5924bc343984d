#include "proof/program/products.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ir/reductions/stored.h"

namespace pooljit::ir {

const Factors& Products::read(TermId id) {
  return factors_.of(id, [this](TermId one) { return make(one); });
}

Factors Products::make(TermId id) {
  const LaneTerm& term = graph_[id];
  switch (term.kind) {
    case LaneTerm::Kind::constant: {
      const int64_t one = is_float(term.dtype) ? lane_bits(term.dtype, float_bits(term.dtype, 1)) : 1;
      if (term.imm != one) throw Unreadable{"a factor that is no element"};
      return {};
    }
    case LaneTerm::Kind::input:
      if (term.buffer != 0) throw Unreadable{"an element of another tensor than the input"};
      return {{term.imm}};
    case LaneTerm::Kind::pack:
      return packed(id);
    case LaneTerm::Kind::op:
    default:
      break;
  }
  if (term.op == Op::mul) return product(term.args[0], term.args[1], term.dtype);
  if (term.op == Op::cvt) return converted(term);
  if (const auto pair = written_.product(id)) return product(pair->a, pair->b, DType::i64);
  throw Unreadable{fmt::format("{} of input elements", info(term.op).text), is_open_};
}

// A bfloat16 as the high half of a float32, or the low bytes of an integer.
Factors Products::packed(TermId id) {
  if (const TermId half = graph_.high_half(id); half != no_term) return read(half);
  if (const TermId whole = graph_.below_zeros(id); whole != no_term) {
    Factors factors = read(whole);
    const LaneTerm& term = graph_[whole];
    const bool is_number = term.kind == LaneTerm::Kind::input && !is_signed_int(term.dtype);
    if (!is_number) factors.bits = std::min(factors.bits, info(term.dtype).bits);
    return factors;
  }
  const std::vector<TermGraph::Byte> all = graph_.bytes_of(id);
  const TermId whole = all[0].term;
  size_t low = 0;
  while (whole != no_term && low < all.size() &&
         all[low] == TermGraph::Byte{whole, static_cast<int32_t>(low)})
    ++low;
  if (low == 0) throw Unreadable{"an element that is put together from bytes of others", is_open_};
  Factors factors = read(whole);
  factors.bits = std::min(factors.bits, static_cast<int>(8 * low));
  return factors;
}

// Floats become other floats, integers longer or shorter ones. An element keeps its number as a longer one;
// of a product the low bits are known, and no more.
Factors Products::converted(const LaneTerm& term) {
  const DType from = term.source();
  const LaneTerm& operand = graph_[term.args[0]];
  if (is_float(from) != is_float(term.dtype) || term.saturate)
    throw Unreadable{"a conversion of a product", is_open_};
  Factors factors = factor(term.args[0], from);
  if (is_float(from)) return factors;
  const bool is_number =
      operand.kind == LaneTerm::Kind::input && operand.dtype == from && bytes(term.dtype) >= bytes(from);
  const int bits = std::min(info(from).bits, info(term.dtype).bits);
  if (!is_number) factors.bits = std::min(factors.bits, bits);
  return factors;
}

// Of a term that is taken as this type: of integers the sign does not matter to the bits of a product.
const Factors& Products::factor(TermId id, DType dtype) {
  const DType own = graph_[id].dtype;
  const bool is_widened = dtype == DType::f32 && graph_.high_half(id) != no_term;
  const bool is_integer = !is_float(dtype) && !is_float(own) && bytes(own) == bytes(dtype);
  if (own != dtype && !is_widened && !is_integer)
    throw Unreadable{fmt::format("bits of {} that are taken as {}", info(own).text, info(dtype).text), true};
  return read(id);
}

Factors Products::product(TermId a, TermId b, DType dtype) {
  const Factors &x = factor(a, dtype), &y = factor(b, dtype);
  Factors both;
  std::ranges::merge(x.elements, y.elements, std::back_inserter(both.elements));
  both.bits = std::min(x.bits, y.bits);
  if (!is_float(dtype)) both.bits = std::min(both.bits, info(dtype).bits);
  return both;
}

}  // namespace pooljit::ir
