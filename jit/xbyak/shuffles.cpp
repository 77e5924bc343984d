// One instruction for each form of ir/passes/shuffle_forms.h; those by index have it in a register of its
// own or in the result's.
#include "ir/check.h"
#include "jit/xbyak/emitter.h"

namespace pooljit::jit {

using ir::Inst;
using ir::Move;
using ir::ShuffleForm;
using Xbyak::Operand;
using Xbyak::Xmm;
using Xbyak::Ymm;

namespace {

using Three = void (*)(Assembler&, const Xmm&, const Xmm&, const Operand&);

#define THREE(name) [](Assembler& a, const Xmm& to, const Xmm& x, const Operand& y) { a.name(to, x, y); }
#define PERMUTE(name)                                                   \
  [](Assembler& a, const Xmm& to, const Xmm& x, const Operand& y) {     \
    a.name(static_cast<const Ymm&>(to), static_cast<const Ymm&>(x), y); \
  }

// By move and by bytes of the unit: 1, 2, 4, 8.
struct Row {
  Move move;
  Three by_width[4];
};
constexpr Row rows[] = {
    {Move::unpack_low, {THREE(vpunpcklbw), THREE(vpunpcklwd), THREE(vpunpckldq), THREE(vpunpcklqdq)}},
    {Move::unpack_high, {THREE(vpunpckhbw), THREE(vpunpckhwd), THREE(vpunpckhdq), THREE(vpunpckhqdq)}},
    {Move::permute, {nullptr, THREE(vpermw), PERMUTE(vpermd), PERMUTE(vpermq)}},
    {Move::permute_two, {nullptr, THREE(vpermi2w), THREE(vpermi2d), THREE(vpermi2q)}},
};

#undef THREE
#undef PERMUTE

Three find(const ShuffleForm& form) {
  const int column = form.width == 1 ? 0 : form.width == 2 ? 1 : form.width == 4 ? 2 : 3;
  for (const Row& row : rows)
    if (row.move == form.move) return row.by_width[column];
  POOLJIT_CHECK(false, "a shuffle without an instruction");
}

const Ymm& as_ymm(const Xmm& reg) { return static_cast<const Ymm&>(reg); }

Xmm resized(const Xmm& reg, int bytes) { return vector_register(reg.getIdx(), bytes); }

}  // namespace

void Emitter::shuffle(const Inst& inst) {
  const OperandRules& rules = map_.liveness().rules();
  const ShuffleForm& form = rules.form(inst);
  const int bytes = rules.register_bytes(inst);
  inst.args.size() == 2 ? shuffle_two(inst, form, bytes) : shuffle_one(inst, form, bytes);
}

void Emitter::shuffle_one(const Inst& inst, const ShuffleForm& form, int bytes) {
  if (form.move == Move::low) return;  // the same register
  const Xmm to = resized(result(inst), bytes), from = resized(source_register(inst, 0), bytes);
  const auto imm = static_cast<uint8_t>(form.imm);
  switch (form.move) {
    case Move::part:
      return extract(result(inst), from, form);
    case Move::splat:
      return splat_unit(form.width, result(inst), resized(from, 16));
    case Move::shift_down:
      return a_.vpsrldq(to, from, imm);
    case Move::dwords_in_lane:
      return a_.vpshufd(to, from, imm);
    case Move::qwords:
      return a_.vpermq(as_ymm(to), from, imm);
    case Move::bytes_in_lane:
      return a_.vpshufb(to, from, implied_source(bytes));
    default:
      return find(form)(a_, to, index_register(to), from);
  }
}

void Emitter::splat_unit(int width, const Xmm& to, const Xmm& from) {
  switch (width) {
    case 1:
      return a_.vpbroadcastb(to, from);
    case 2:
      return a_.vpbroadcastw(to, from);
    case 4:
      return a_.vpbroadcastd(to, from);
    default:
      return a_.vpbroadcastq(to, from);
  }
}

void Emitter::shuffle_two(const Inst& inst, const ShuffleForm& form, int bytes) {
  const Xmm to = resized(result(inst), bytes);
  const Source second = source(inst, 1);
  if (form.move == Move::insert) return insert(to, resized(source_register(inst, 0), bytes), second, form);
  const Xmm a = resized(source_register(inst, 0), bytes);
  const Source b = second.is_memory() ? second : Source(resized(second.reg(), bytes));
  const auto imm = static_cast<uint8_t>(form.imm);
  switch (form.move) {
    case Move::blend:
      return blend(inst, form);
    case Move::shuffle_two:
      return form.width == 4 ? a_.vshufps(to, a, b, imm) : a_.vshufpd(to, a, b, imm);
    case Move::lanes:
      return a_.vperm2i128(as_ymm(to), as_ymm(a), b, imm);
    case Move::align:  // the upper operand comes first
      if (form.width == 1) return a_.vpalignr(to, b.reg(), a, imm);
      return form.width == 4 ? a_.valignd(to, b.reg(), a, imm) : a_.valignq(to, b.reg(), a, imm);
    case Move::align_in_lane:
      return a_.vpalignr(to, b.reg(), a, imm);
    case Move::permute_two:
      index_register_in(to);
      return find(form)(a_, to, a, b);
    default:
      return find(form)(a_, to, a, b);
  }
}

// The register that holds the index list of a one-source permute.
Xmm Emitter::index_register(const Xmm& to) {
  const Place place = place_of(RegisterMap::implied);
  if (place.kind == Place::Kind::reg) return {to.getKind(), place.number};
  load_constant(place.number, to.getIdx());
  return to;
}

// ... or of one that overwrites it.
void Emitter::index_register_in(const Xmm& to) {
  const Xmm index = index_register(to);
  if (index.getIdx() != to.getIdx()) a_.vmovaps(to, index);
}

}  // namespace pooljit::jit
