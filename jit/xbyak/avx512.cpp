// avx512: masks are k registers, a bit per lane; every load, store and blend can be masked.
#include <algorithm>
#include <bit>
#include <iterator>

#include "ir/check.h"
#include "jit/xbyak/isa_emitters.h"

namespace pooljit::jit {
namespace {

using ir::DType;
using ir::Inst;
using ir::Op;
using ir::Predicate;
using ir::ShuffleForm;
using Xbyak::Opmask;
using namespace x86;

constexpr uint8_t int_predicate(Predicate pred) {
  constexpr uint8_t by_predicate[] = {0, 4, 1, 2, 6, 5};
  return by_predicate[static_cast<int>(pred)];
}

// The comparison of each dtype, and what moves elements of 1, 2, 4 and 8 bytes under a mask.
struct Compare {
  DType dtype;
  VectorInstruction instruction;
};
constexpr Compare compares[] = {
    {DType::f32, vcmpps_k}, {DType::f64, vcmppd_k}, {DType::u8, vpcmpub},  {DType::i8, vpcmpb},
    {DType::u16, vpcmpuw},  {DType::i16, vpcmpw},   {DType::u32, vpcmpud}, {DType::i32, vpcmpd},
    {DType::u64, vpcmpuq},  {DType::i64, vpcmpq},
};
constexpr VectorInstruction loads[] = {vmovdqu8, vmovdqu16, vmovups, vmovupd};
constexpr VectorInstruction stores[] = {vmovdqu8_m, vmovdqu16_m, vmovups_m, vmovupd_m};
constexpr VectorInstruction blends[] = {vpblendmb, vpblendmw, vpblendmd, vpblendmq};

size_t column_of(DType dtype) {
  return static_cast<size_t>(std::countr_zero(static_cast<unsigned>(ir::bytes(dtype))));
}

class Avx512Emitter final : public Emitter {
 public:
  using Emitter::Emitter;

 private:
  int mask_of(int arg) const { return place_of(arg).number; }

  // ------------------------------------------------------------------------------------------------ memory
  void masked_load(const Inst& inst, const MemoryOperand& from) override {
    const Vec to = result(inst);
    const Place pass = place_of(1);
    const bool zeroes = pass.kind == Place::Kind::constant && map_.pool().at(pass.number).is_zero();
    if (pass.kind == Place::Kind::constant && !zeroes)
      load_constant(pass.number, to.number);
    else if (!zeroes && pass.number != to.number)
      a_.write(vmovaps, to, Vec::of(pass.number, to.bytes));
    a_.write(loads[column_of(type(inst.results[0]).dtype)], to.masked(mask_of(0), zeroes), from);
  }

  void masked_store(const Inst& inst, const MemoryOperand& to) override {
    a_.write(stores[column_of(type(inst.args[0]).dtype)], source_register(inst, 0).masked(mask_of(1)), to);
  }

  // ------------------------------------------------------------------------------------------------- masks
  void compare(const Inst& inst) override {
    const Vec to = Vec::k(map_.place(inst.results[0]).number), x = source_register(inst, 0);
    const DType dtype = type(inst.args[0]).dtype;
    const auto* const row = std::ranges::find(compares, dtype, &Compare::dtype);
    POOLJIT_CHECK(row != std::end(compares), "a comparison that is not legal");
    a_.write(row->instruction, to, x, source(inst, 1),
             ir::is_float(dtype) ? float_predicate(inst.pred) : int_predicate(inst.pred));
  }

  void select(const Inst& inst) override {
    choose(type(inst.results[0]).dtype, result(inst).masked(mask_of(0)), source_register(inst, 2),
           source(inst, 1));
  }

  // to = mask ? set : clear, with the mask on `to`.
  void choose(DType dtype, Vec to, Vec clear, const Source& set) {
    a_.write(dtype == DType::f32   ? vblendmps
             : dtype == DType::f64 ? vblendmpd
                                   : blends[column_of(dtype)],
             to, clear, set);
  }

  void mask_logic(const Inst& inst) override {
    const Opmask to(map_.place(inst.results[0]).number);
    const Opmask x(mask_of(0)), y(mask_of(1));
    inst.op == Op::and_ ? a_.kandq(to, x, y) : a_.korq(to, x, y);
  }

  void integer_logic(Op op, Vec to, Vec x, const Source& y) override {
    a_.write(op == Op::and_ ? vpandd : vpord, to, x, y);
  }

  void move_mask(int to, int from) override { a_.kmovq(Opmask(to), Opmask(from)); }

  void swap_masks(int x, int y) override {
    const Opmask p(x), q(y);
    a_.kxorq(p, p, q);
    a_.kxorq(q, p, q);
    a_.kxorq(p, p, q);
  }

  // ------------------------------------------------------------------------------------------------- lanes
  void splat(const ir::Type& of, Vec result, const Xbyak::Reg64& value) override {
    const Xbyak::Xmm to = Assembler::xmm(result);
    switch (ir::bytes(of.dtype)) {
      case 1:
        return a_.vpbroadcastb(to, Xbyak::Reg8(value.getIdx()));
      case 2:
        return a_.vpbroadcastw(to, Xbyak::Reg16(value.getIdx()));
      case 4:
        return a_.vpbroadcastd(to, Xbyak::Reg32(value.getIdx()));
      default:
        return a_.vpbroadcastq(to, value);
    }
  }

  void blend(const Inst& inst, const ShuffleForm& form) override {
    constexpr DType unit_of[] = {DType::u8, DType::u8, DType::u16, DType::u8, DType::u32,
                                 DType::u8, DType::u8, DType::u8,  DType::u64};
    const Vec to = result(inst), x = source_register(inst, 0).sized(to.bytes);
    const Source y = source(inst, 1);
    choose(unit_of[form.width], to.masked(mask_of(RegisterMap::implied)), x,
           y.is_memory() ? y : Source(y.reg().sized(to.bytes)));
  }

  void extract(Vec to, Vec from, const ShuffleForm& form) override {
    a_.write(form.width == 32 ? vextracti64x4 : vextracti32x4, from, to.sized(form.width),
             static_cast<int>(form.imm));
  }

  void insert(Vec to, Vec x, const Source& y, const ShuffleForm& form) override {
    const Source part = y.is_memory() ? y : Source(y.reg().sized(form.width));
    a_.write(form.width == 32 ? vinserti64x4 : vinserti32x4, to, x, part, static_cast<int>(form.imm));
  }

  // --------------------------------------------------------------------------------------------- constants
  void load_constant_idiom(const Constant& constant, int reg) override {
    const Vec low = Vec::of(reg, 16), all = Vec::of(reg, 64);
    if (constant.is_mask_bits)
      load_mask(constant.bits(), Opmask(reg));
    else if (constant.is_zero())
      a_.write(reg < 16 ? vpxor : vpxord, low, low, low);
    else
      a_.write(vpternlogd, all, all, all, 0xff);
  }

  void load_mask(uint64_t bits, const Opmask& to) {
    if (bits == 0) return a_.kxorq(to, to, to);
    if (bits == ~uint64_t{0}) return a_.kxnorq(to, to, to);
    a_.mov(a_.rax, bits);
    a_.kmovq(to, a_.rax);
  }

  void swap_vectors(int x, int y) override {
    const Vec p = Vec::of(x, 64), q = Vec::of(y, 64);
    a_.write(vpxord, p, p, q);
    a_.write(vpxord, q, p, q);
    a_.write(vpxord, p, p, q);
  }
};

}  // namespace

std::unique_ptr<Emitter> make_avx512_emitter(const ir::Program& program, const RegisterMap& map,
                                             Assembler& assembler) {
  return std::make_unique<Avx512Emitter>(program, map, assembler);
}

}  // namespace pooljit::jit
