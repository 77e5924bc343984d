#include "proof/program/terms.h"

#include <algorithm>

namespace pooljit::ir {
namespace {

constexpr size_t roles = static_cast<size_t>(Param::Role::count) + 1;

bool is_mask_op(const Inst& inst) { return inst.op == Op::cmp; }

bool widens_by_zeros(const LaneTerm& to) {
  return to.kind == LaneTerm::Kind::op && to.op == Op::cvt &&
         info(to.source()).cls == DTypeClass::unsigned_int && !is_float(to.dtype) &&
         bytes(to.dtype) > bytes(to.source());
}

uint64_t hash_of(const LaneTerm& term) {
  uint64_t hash = static_cast<uint64_t>(term.kind) | static_cast<uint64_t>(term.op) << 8 |
                  static_cast<uint64_t>(term.dtype) << 16 | static_cast<uint64_t>(term.pred) << 24 |
                  static_cast<uint64_t>(term.saturate) << 32;
  const auto mix = [&](uint64_t word) { hash = (hash ^ word) * 0x9e3779b97f4a7c15 + (hash >> 29); };
  mix(static_cast<uint64_t>(term.imm));
  for (TermId arg : term.args) mix(static_cast<uint64_t>(arg));
  mix(static_cast<uint64_t>(term.buffer));
  return hash ^ hash >> 32;
}

}  // namespace

// Where the term is, or would be.
size_t TermGraph::slot_of(const LaneTerm& term) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash_of(term) & mask;
  while (slots_[slot] != no_term && (*this)[slots_[slot]] != term) slot = (slot + 1) & mask;
  return slot;
}

void TermGraph::grow() {
  constexpr size_t first = 256;
  slots_.assign(std::max(first, 2 * slots_.size()), no_term);
  for (size_t id = 0; id < terms_.size(); ++id) slots_[slot_of(terms_[id])] = static_cast<TermId>(id);
}

TermId TermGraph::add(const LaneTerm& term) {
  if (2 * terms_.size() >= slots_.size()) grow();
  TermId& id = slots_[slot_of(term)];
  if (id == no_term) {
    id = static_cast<TermId>(terms_.size());
    terms_.push_back(term);
    used_bytes_.push_back(find_used_bytes(term));
  }
  return id;
}

int TermGraph::find_used_bytes(const LaneTerm& term) const {
  const int width = bytes(term.dtype);
  if (term.kind == LaneTerm::Kind::constant) {
    int used = width;
    while (used > 0 && (term.imm >> (8 * (used - 1)) & 0xff) == 0) --used;
    return used;
  }
  if (term.kind == LaneTerm::Kind::pack) {
    const std::vector<Byte>& all = packs_[static_cast<size_t>(term.imm)];
    const auto last = std::find_if(all.rbegin(), all.rend(), [](const Byte& byte) { return byte != Byte{}; });
    return static_cast<int>(all.rend() - last);
  }
  if (term.kind != LaneTerm::Kind::op || is_float(term.dtype)) return width;
  const auto used = [&](int arg) { return std::min(width, used_bytes(term.args[arg])); };
  switch (term.op) {
    case Op::cvt:
      return widens_by_zeros(term) || (term.keeps_low_bytes() && !term.saturate) ? used(0) : width;
    case Op::and_:
      return std::min(used(0), used(1));
    case Op::or_:
      return std::max(used(0), used(1));
    case Op::select:
      return std::max(used(1), used(2));
    case Op::shr:
      return info(term.dtype).cls == DTypeClass::unsigned_int
                 ? std::max(0, used(0) - static_cast<int>(term.imm / 8))
                 : width;
    case Op::min:  // of numbers of which none is negative
      return is_not_negative(term.args[0]) && is_not_negative(term.args[1]) ? std::min(used(0), used(1))
                                                                            : width;
    default:
      return width;
  }
}

bool TermGraph::is_not_negative(TermId id) const {
  const LaneTerm& term = (*this)[id];
  if (is_float(term.dtype)) return false;
  if (info(term.dtype).cls == DTypeClass::unsigned_int || used_bytes(id) < bytes(term.dtype)) return true;
  if (is_constant(id)) return term.imm >= 0 && (term.imm >> (info(term.dtype).bits - 1) & 1) == 0;
  return term.kind == LaneTerm::Kind::op && term.op == Op::max &&
         (is_not_negative(term.args[0]) || is_not_negative(term.args[1]));
}

std::vector<TermGraph::Byte> TermGraph::bytes_of(TermId id) const {
  const LaneTerm& term = (*this)[id];
  if (term.kind == LaneTerm::Kind::pack) return packs_[static_cast<size_t>(term.imm)];
  const int width = bytes(term.dtype);
  std::vector<Byte> result;
  const bool is_low_part =
      term.kind == LaneTerm::Kind::op && term.op == Op::cvt && term.keeps_low_bytes() && !term.saturate;
  if (is_low_part) {
    result = bytes_of(term.args[0]);
    result.resize(static_cast<size_t>(width));
  } else if (term.kind == LaneTerm::Kind::constant) {
    for (int i = 0; i < width; ++i)
      result.push_back({no_term, static_cast<int32_t>(term.imm >> (8 * i) & 0xff)});
  } else if (term.kind == LaneTerm::Kind::op && widens_by_zeros(term)) {
    result = bytes_of(term.args[0]);
    result.resize(static_cast<size_t>(width));
  } else {
    for (int i = 0; i < width; ++i) result.push_back(i < used_bytes(id) ? Byte{id, i} : Byte{});
  }
  return result;
}

TermId TermGraph::from_bytes(DType dtype, const std::vector<Byte>& bytes) {
  if (std::all_of(bytes.begin(), bytes.end(), [](const Byte& byte) { return byte.term == no_term; })) {
    int64_t bits = 0;
    for (size_t i = 0; i < bytes.size(); ++i) bits |= int64_t{bytes[i].number} << (8 * i);
    return constant(dtype, bits);
  }
  // A whole term, with nothing or zeros above it.
  const TermId low = bytes[0].term;
  const auto width = low == no_term ? size_t{0} : static_cast<size_t>(ir::bytes((*this)[low].dtype));
  const auto is_byte_of_low = [&](size_t i) {
    const bool used = i < static_cast<size_t>(used_bytes(low));
    return bytes[i] == (used ? Byte{low, static_cast<int32_t>(i)} : Byte{});
  };
  bool is_whole = width > 0 && width <= bytes.size();
  for (size_t i = 0; is_whole && i < bytes.size(); ++i) is_whole = is_byte_of_low(i);
  if (is_whole && width == bytes.size()) return low;
  // The bits of a half have no type of their own.
  const DType own = low == no_term ? dtype : (*this)[low].dtype,
              source = is_half(own) ? unsigned_of(own) : own;
  LaneTerm conversion = {.kind = LaneTerm::Kind::op,
                         .op = Op::cvt,
                         .dtype = dtype,
                         .imm = static_cast<int64_t>(source),
                         .args = {low, no_term, no_term}};
  if (is_whole && info(source).cls == DTypeClass::unsigned_int && !is_float(dtype)) return add(conversion);
  // The low part of a term is a conversion to fewer bits, whatever these are taken as.
  bool is_low = low != no_term && width > bytes.size() && !is_float(source);
  for (size_t i = 0; is_low && i < bytes.size(); ++i) is_low = is_byte_of_low(i);
  if (is_low) {
    if (is_float(dtype)) conversion.dtype = unsigned_of(dtype);
    return add(conversion);
  }
  const auto [at, is_new] = pack_numbers_.try_emplace(bytes, std::ssize(packs_));
  if (is_new) packs_.push_back(bytes);
  return add({.kind = LaneTerm::Kind::pack, .dtype = dtype, .imm = at->second});
}

TermId TermGraph::high_half(TermId id) const {
  const LaneTerm& term = (*this)[id];
  if (term.kind != LaneTerm::Kind::pack || bytes(term.dtype) != 4) return no_term;
  const std::vector<Byte>& all = packs_[static_cast<size_t>(term.imm)];
  const TermId half = all[2].term;
  const bool is_half = all[0] == Byte{} && all[1] == Byte{} && half != no_term && all[2].number == 0 &&
                       all[3] == Byte{half, 1};
  return is_half && bytes((*this)[half].dtype) == 2 ? half : no_term;
}

TermId TermGraph::below_zeros(TermId id) const {
  if ((*this)[id].kind != LaneTerm::Kind::pack) return no_term;
  const std::vector<Byte>& all = packs_[static_cast<size_t>((*this)[id].imm)];
  const TermId low = all[0].term;
  if (low == no_term || is_float((*this)[low].dtype)) return no_term;
  const std::vector<Byte> whole = bytes_of(low);
  const bool is_low = whole.size() < all.size() && std::equal(whole.begin(), whole.end(), all.begin()) &&
                      std::all_of(all.begin() + std::ssize(whole), all.end(),
                                  [](const Byte& byte) { return byte == Byte{}; });
  return is_low ? low : no_term;
}

TermId TermGraph::whole_of(TermId id) const {
  if ((*this)[id].kind != LaneTerm::Kind::pack) return no_term;
  const std::vector<Byte>& all = packs_[static_cast<size_t>((*this)[id].imm)];
  const TermId whole = all[0].term;
  bool is_high =
      whole != no_term && bytes((*this)[whole].dtype) == 4 && all[0].number == 2 && all[1] == Byte{whole, 3};
  for (size_t i = 2; i < all.size(); ++i) is_high = is_high && all[i] == Byte{};
  return is_high ? whole : no_term;
}

const LaneTerm* TermGraph::op(TermId id, Op op, DType dtype) const {
  if (id == no_term) return nullptr;
  const LaneTerm& term = (*this)[id];
  return term.kind == LaneTerm::Kind::op && term.op == op && term.dtype == dtype ? &term : nullptr;
}

// op(other, constant) of uint32.
bool TermGraph::is_op_with(TermId id, Op op, TermId other, int64_t constant) const {
  const LaneTerm* const term = this->op(id, op, DType::u32);
  return term && term->args[0] == other && is_constant(term->args[1]) &&
         (*this)[term->args[1]].imm == constant;
}

// To the nearest, ties to even: half of the last place kept is added, less one where that place is even; of a
// NaN the high half, quiet.
TermId TermGraph::rounded_to_bf16(TermId id) const {
  if (const LaneTerm* const one = op(id, Op::cvt, DType::bf16))
    return one->source() == DType::f32 ? one->args[0] : no_term;
  const LaneTerm* const low = op(id, Op::cvt, DType::u16);
  const LaneTerm* const chosen =
      low && low->source() == DType::u32 ? op(low->args[0], Op::select, DType::u32) : nullptr;
  const LaneTerm* const nan = chosen ? op(chosen->args[0], Op::cmp, DType::f32) : nullptr;
  if (!nan || nan->pred != Predicate::un || nan->args[0] != nan->args[1]) return no_term;
  const TermId x = nan->args[0];
  const LaneTerm* const quiet = op(chosen->args[1], Op::or_, DType::u32);
  std::vector<Byte> high = bytes_of(x);
  high.erase(high.begin(), high.begin() + 2);
  high.resize(4);
  if (!quiet || bytes_of(quiet->args[0]) != high ||
      !is_op_with(chosen->args[1], Op::or_, quiet->args[0], 0x40))
    return no_term;
  return is_sum_of(whole_of(chosen->args[2]), x, quiet->args[0]) ? x : no_term;
}

// x + (high & 1) + 0x7fff, in any order.
bool TermGraph::is_sum_of(TermId sum, TermId x, TermId high) const {
  std::vector<TermId> open = {sum}, summands;
  while (!open.empty() && open.size() + summands.size() <= 3) {
    const TermId id = open.back();
    open.pop_back();
    const LaneTerm* const without_sign = op(id, Op::add, DType::u32);
    const LaneTerm* const added = without_sign ? without_sign : op(id, Op::add, DType::i32);
    if (added && id != x)
      open.insert(open.end(), {added->args[0], added->args[1]});
    else
      summands.push_back(id);
  }
  const auto has = [&](auto&& is) { return std::ranges::count_if(summands, is) == 1; };
  return open.empty() && summands.size() == 3 && has([&](TermId id) { return id == x; }) &&
         has([&](TermId id) { return is_op_with(id, Op::and_, high, 1); }) &&
         has([&](TermId id) { return id != no_term && is_constant(id) && (*this)[id].imm == 0x7fff; });
}

Terms::Terms(const Program& program, TermGraph& graph)
    : program_(program), numbers_(program), graph_(graph), offsets_(program.types.size()), stored_(roles) {
  size_t lanes = 0;
  for (size_t i = 0; i < offsets_.size(); ++i) {
    offsets_[i] = lanes;
    lanes += static_cast<size_t>(program.types[i].lanes);
  }
  lanes_.resize(lanes, no_term);
}

TermId Terms::constant_lane(Value value, int lane) {
  const Type& t = type(value);
  if (t.kind == Type::Kind::mask) return graph_.constant(DType::u8, numbers_.mask(value)[lane]);
  return graph_.constant(t.dtype, numbers_.bits(value, lane));
}

void Terms::set_constant(Value value) {
  for (int i = 0; i < type(value).lanes; ++i) lanes(value)[i] = constant_lane(value, i);
}

void Terms::copy(Value to, Value from) {
  numbers_.copy(to, from);
  std::copy_n(lanes(from), type(from).lanes, lanes(to));
}

void Terms::splat(Value to, int64_t index) {
  numbers_.splat(to, index);
  set_constant(to);
}

void Terms::bind(Value to, TermId id) {
  if (graph_.is_constant(id)) return splat(to, graph_[id].imm);
  std::fill_n(lanes(to), type(to).lanes, id);
}

const uint8_t* Terms::mask(Value value) const {
  for (int i = 0; i < type(value).lanes; ++i)
    if (!graph_.is_constant(lanes(value)[i]))
      throw Unreadable{"a mask that depends on the input guards memory"};
  return numbers_.mask(value);
}

void Terms::load(Value to, const Access& access, const uint8_t* mask, Value pass) {
  numbers_.load(to, access, mask, pass);
  const Type& t = type(to);
  const Param& param = program_.params[static_cast<size_t>(access.slot)];
  const int buffer = buffer_of(param.role, param.number);
  for (int i = 0; i < t.lanes; ++i) {
    if (mask && !mask[i])
      lanes(to)[i] = lanes(pass)[i];
    else if (param.role == Param::Role::table)
      lanes(to)[i] = constant_lane(to, i);
    else if (param.role == Param::Role::scratch)
      lanes(to)[i] = stored_at(param.role, access.offset + int64_t{i} * bytes(t.dtype), t.dtype);
    else
      lanes(to)[i] = graph_.input(t.dtype, access.offset + int64_t{i} * bytes(t.dtype), buffer);
  }
}

// What was stored there as one element.
TermId Terms::stored_at(Param::Role role, int64_t offset, DType dtype) const {
  const Stored& all = stored(role);
  const auto found = all.find(offset);
  if (found == all.end() || bytes(graph_[found->second].dtype) != bytes(dtype))
    throw Unreadable{"scratch memory is loaded in other elements than it was stored in"};
  return found->second;
}

void Terms::store(Value from, const Access& access, const uint8_t* mask) {
  numbers_.store(from, access, mask);
  const Type& t = type(from);
  const Param::Role role = program_.params[static_cast<size_t>(access.slot)].role;
  for (int i = 0; i < t.lanes; ++i) {
    if (mask && !mask[i]) continue;
    const int64_t offset = access.offset + int64_t{i} * bytes(t.dtype);
    if (role == Param::Role::scratch) forget(role, offset, bytes(t.dtype));
    stored_[static_cast<size_t>(role)][offset] = lanes(from)[i];
  }
}

// Elements that have a byte of those.
void Terms::forget(Param::Role role, int64_t offset, int64_t width) {
  constexpr int64_t widest = 8;
  Stored& all = stored_[static_cast<size_t>(role)];
  for (int64_t at = offset - widest + 1; at < offset + width; ++at)
    if (const auto found = all.find(at);
        found != all.end() && at + bytes(graph_[found->second].dtype) > offset)
      all.erase(found);
}

void Terms::compute(const Inst& inst) {
  numbers_.compute(inst);
  const Value to = inst.results[0];
  if (inst.args.empty()) return set_constant(to);
  if (inst.op == Op::shuffle) return shuffle(inst);
  if (inst.op == Op::bitcast && type(to).lanes != type(inst.args[0]).lanes) return bitcast(inst);
  const bool makes_mask = type(to).kind == Type::Kind::mask;
  for (int i = 0; i < type(to).lanes; ++i) {
    LaneTerm term = {.kind = LaneTerm::Kind::op,
                     .op = inst.op,
                     .dtype = type(is_mask_op(inst) ? inst.args[0] : to).dtype,
                     .pred = inst.pred,
                     .saturate = inst.saturate,
                     .imm = inst.op == Op::cvt ? static_cast<int64_t>(type(inst.args[0]).dtype) : inst.imm};
    bool is_constant = true;
    for (size_t a = 0; a < inst.args.size(); ++a) {
      term.args[a] = lanes(inst.args[a])[i];
      is_constant = is_constant && graph_.is_constant(term.args[a]);
    }
    lanes(to)[i] = is_constant ? constant_lane(to, i) : graph_.apply(term, makes_mask);
  }
}

void Terms::shuffle(const Inst& inst) {
  const int64_t first_lanes = type(inst.args[0]).lanes;
  TermId* to = lanes(inst.results[0]);
  for (int64_t lane : inst.data)
    *to++ = lane < first_lanes ? lanes(inst.args[0])[lane] : lanes(inst.args.back())[lane - first_lanes];
}

void Terms::bitcast(const Inst& inst) {
  std::vector<TermGraph::Byte> all;
  for (int i = 0; i < type(inst.args[0]).lanes; ++i)
    for (const TermGraph::Byte& byte : graph_.bytes_of(lanes(inst.args[0])[i])) all.push_back(byte);
  const Type& to = type(inst.results[0]);
  const auto width = bytes(to.dtype);
  for (int i = 0; i < to.lanes; ++i)
    lanes(inst.results[0])[i] =
        graph_.from_bytes(to.dtype, {all.begin() + i * width, all.begin() + (i + 1) * width});
}

}  // namespace pooljit::ir
