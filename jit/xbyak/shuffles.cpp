// One instruction for each form of ir/passes/shuffle_forms.h; those by index have it in a register of its
// own or in the result's.
#include <bit>

#include "ir/check.h"
#include "jit/xbyak/emitter.h"

namespace pooljit::jit {

using ir::Inst;
using ir::Move;
using ir::ShuffleForm;
using namespace x86;

namespace {

// By move and by bytes of the unit: 1, 2, 4, 8.
struct MoveRow {
  Move move;
  VectorInstruction by_width[4];
};
constexpr MoveRow move_rows[] = {
    {Move::unpack_low, {vpunpcklbw, vpunpcklwd, vpunpckldq, vpunpcklqdq}},
    {Move::unpack_high, {vpunpckhbw, vpunpckhwd, vpunpckhdq, vpunpckhqdq}},
    {Move::permute, {{}, vpermw, vpermd, vpermq}},
    {Move::permute_two, {{}, vpermi2w, vpermi2d, vpermi2q}},
};
constexpr VectorInstruction splats[] = {vpbroadcastb, vpbroadcastw, vpbroadcastd, vpbroadcastq};

size_t column_of(int width) { return static_cast<size_t>(std::countr_zero(static_cast<unsigned>(width))); }

const VectorInstruction& find(const ShuffleForm& form) {
  for (const MoveRow& row : move_rows)
    if (row.move == form.move) return row.by_width[column_of(form.width)];
  POOLJIT_CHECK(false, "a shuffle without an instruction");
}

}  // namespace

void Emitter::shuffle(const Inst& inst) {
  const OperandRules& rules = map_.liveness().rules();
  const ShuffleForm& form = rules.form(inst);
  const int bytes = rules.register_bytes(inst);
  inst.args.size() == 2 ? shuffle_two(inst, form, bytes) : shuffle_one(inst, form, bytes);
}

void Emitter::shuffle_one(const Inst& inst, const ShuffleForm& form, int bytes) {
  if (form.move == Move::low) return;  // the same register
  const Vec to = result(inst).sized(bytes), from = source_register(inst, 0).sized(bytes);
  const auto imm = static_cast<int>(form.imm);
  switch (form.move) {
    case Move::part:
      return extract(result(inst), from, form);
    case Move::splat:
      return splat_unit(form.width, result(inst), from.sized(16));
    case Move::shift_down:
      return a_.write_shift(vpsrldq, to, from, imm);
    case Move::dwords_in_lane:
      return a_.write(vpshufd, to, from, imm);
    case Move::qwords:
      return a_.write(vpermq_i, to, from, imm);
    case Move::bytes_in_lane:
      return a_.write(vpshufb, to, from, implied_source(bytes));
    default:
      return a_.write(find(form), to, index_register(to), from);
  }
}

void Emitter::splat_unit(int width, Vec to, Vec from) { a_.write(splats[column_of(width)], to, from); }

void Emitter::shuffle_two(const Inst& inst, const ShuffleForm& form, int bytes) {
  const Vec to = result(inst).sized(bytes), a = source_register(inst, 0).sized(bytes);
  const Source second = source(inst, 1);
  if (form.move == Move::insert) return insert(to, a, second, form);
  const Source b = second.is_memory() ? second : Source(second.reg().sized(bytes));
  const auto imm = static_cast<int>(form.imm);
  switch (form.move) {
    case Move::blend:
      return blend(inst, form);
    case Move::shuffle_two:
      return a_.write(form.width == 4 ? vshufps : vshufpd, to, a, b, imm);
    case Move::lanes:
      return a_.write(vperm2i128, to, a, b, imm);
    case Move::align:  // the upper operand comes first
      return a_.write(form.width == 1 ? vpalignr : form.width == 4 ? valignd : valignq, to, b.reg(), a, imm);
    case Move::align_in_lane:
      return a_.write(vpalignr, to, b.reg(), a, imm);
    case Move::permute_two:
      index_register_in(to);
      return a_.write(find(form), to, a, b);
    default:
      return a_.write(find(form), to, a, b);
  }
}

// The register that holds the index list of a one-source permute.
Vec Emitter::index_register(Vec to) {
  const Place place = place_of(RegisterMap::implied);
  if (place.kind == Place::Kind::reg) return Vec::of(place.number, to.bytes);
  load_constant(place.number, to.number);
  return to;
}

// ... or of one that overwrites it.
void Emitter::index_register_in(Vec to) {
  const Vec index = index_register(to);
  if (index.number != to.number) a_.write(vmovaps, to, index);
}

}  // namespace pooljit::jit
