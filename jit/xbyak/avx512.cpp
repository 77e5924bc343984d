// avx512: masks are k registers, a bit per lane; every load, store and blend can be masked.
#include <limits>

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
using Xbyak::Xmm;
using Xbyak::Ymm;
using Xbyak::Zmm;

constexpr uint8_t int_predicate(Predicate pred) {
  constexpr uint8_t by_predicate[] = {0, 4, 1, 2, 6, 5};
  return by_predicate[static_cast<int>(pred)];
}

class Avx512Emitter final : public Emitter {
 public:
  using Emitter::Emitter;

 private:
  Opmask mask_of(int arg) const { return Opmask(place_of(arg).number); }

  // ------------------------------------------------------------------------------------------------ memory
  void masked_load(const Inst& inst, const Xbyak::Address& from) override {
    const Xmm to = result(inst);
    const Place pass = place_of(1);
    if (pass.kind == Place::Kind::constant && map_.pool().at(pass.number).is_zero())
      return masked_move(inst, to | mask_of(0) | Xbyak::util::T_z, from);
    if (pass.kind == Place::Kind::constant)
      load_constant(pass.number, to.getIdx());
    else if (pass.number != to.getIdx())
      a_.vmovaps(to, Xmm(to.getKind(), pass.number));
    masked_move(inst, to | mask_of(0), from);
  }

  void masked_move(const Inst& inst, const Xmm& to, const Xbyak::Address& from) {
    switch (ir::bytes(type(inst.results[0]).dtype)) {
      case 1:
        return a_.vmovdqu8(to, from);
      case 2:
        return a_.vmovdqu16(to, from);
      case 4:
        return a_.vmovups(to, from);
      default:
        return a_.vmovupd(to, from);
    }
  }

  void masked_store(const Inst& inst, const Xbyak::Address& where) override {
    const Xmm from = source_register(inst, 0);
    const Xbyak::Address to = where | mask_of(1);
    switch (ir::bytes(type(inst.args[0]).dtype)) {
      case 1:
        return a_.vmovdqu8(to, from);
      case 2:
        return a_.vmovdqu16(to, from);
      case 4:
        return a_.vmovups(to, from);
      default:
        return a_.vmovupd(to, from);
    }
  }

  // ------------------------------------------------------------------------------------------------- masks
  void compare(const Inst& inst) override {
    const Opmask to(map_.place(inst.results[0]).number);
    const Xmm x = source_register(inst, 0);
    const Source y = source(inst, 1);
    switch (type(inst.args[0]).dtype) {
      case DType::f32:
        return a_.vcmpps(to, x, y, float_predicate(inst.pred));
      case DType::f64:
        return a_.vcmppd(to, x, y, float_predicate(inst.pred));
      case DType::u8:
        return a_.vpcmpub(to, x, y, int_predicate(inst.pred));
      case DType::i8:
        return a_.vpcmpb(to, x, y, int_predicate(inst.pred));
      case DType::u16:
        return a_.vpcmpuw(to, x, y, int_predicate(inst.pred));
      case DType::i16:
        return a_.vpcmpw(to, x, y, int_predicate(inst.pred));
      case DType::u32:
        return a_.vpcmpud(to, x, y, int_predicate(inst.pred));
      case DType::i32:
        return a_.vpcmpd(to, x, y, int_predicate(inst.pred));
      case DType::u64:
        return a_.vpcmpuq(to, x, y, int_predicate(inst.pred));
      case DType::i64:
        return a_.vpcmpq(to, x, y, int_predicate(inst.pred));
      default:
        POOLJIT_CHECK(false, "a comparison that is not legal");
    }
  }

  void select(const Inst& inst) override {
    choose(type(inst.results[0]).dtype, result(inst) | mask_of(0), source_register(inst, 2), source(inst, 1));
  }

  // to = mask ? set : clear, with the mask on `to`.
  void choose(DType dtype, const Xmm& to, const Xmm& clear, const Source& set) {
    if (dtype == DType::f32) return a_.vblendmps(to, clear, set);
    if (dtype == DType::f64) return a_.vblendmpd(to, clear, set);
    switch (ir::bytes(dtype)) {
      case 1:
        return a_.vpblendmb(to, clear, set);
      case 2:
        return a_.vpblendmw(to, clear, set);
      case 4:
        return a_.vpblendmd(to, clear, set);
      default:
        return a_.vpblendmq(to, clear, set);
    }
  }

  void mask_logic(const Inst& inst) override {
    const Opmask to(map_.place(inst.results[0]).number);
    inst.op == Op::and_ ? a_.kandq(to, mask_of(0), mask_of(1)) : a_.korq(to, mask_of(0), mask_of(1));
  }

  void integer_logic(Op op, const Xmm& to, const Xmm& x, const Source& y) override {
    op == Op::and_ ? a_.vpandd(to, x, y) : a_.vpord(to, x, y);
  }

  void move_mask(int to, int from) override { a_.kmovq(Opmask(to), Opmask(from)); }

  void swap_masks(int x, int y) override {
    const Opmask p(x), q(y);
    a_.kxorq(p, p, q);
    a_.kxorq(q, p, q);
    a_.kxorq(p, p, q);
  }

  // ------------------------------------------------------------------------------------------------- lanes
  void splat(const ir::Type& of, const Xmm& to, const Xbyak::Reg64& value) override {
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
    const Xmm to = result(inst);
    const Xmm x(to.getKind(), source_register(inst, 0).getIdx());
    const Source y = source(inst, 1);
    choose(unit_of[form.width], to | mask_of(RegisterMap::implied), x,
           y.is_memory() ? y : Source(Xmm(to.getKind(), y.reg().getIdx())));
  }

  void extract(const Xmm& to, const Xmm& from, const ShuffleForm& form) override {
    const auto number = static_cast<uint8_t>(form.imm);
    if (form.width == 32)
      a_.vextracti64x4(Ymm(to.getIdx()), Zmm(from.getIdx()), number);
    else
      a_.vextracti32x4(Xmm(to.getIdx()), static_cast<const Ymm&>(from), number);
  }

  void insert(const Xmm& to, const Xmm& x, const Source& y, const ShuffleForm& form) override {
    const auto number = static_cast<uint8_t>(form.imm);
    const Source part = y.is_memory() ? y : Source(vector_register(y.reg().getIdx(), form.width));
    if (form.width == 32)
      a_.vinserti64x4(Zmm(to.getIdx()), Zmm(x.getIdx()), part, number);
    else
      a_.vinserti32x4(static_cast<const Ymm&>(to), static_cast<const Ymm&>(x), part, number);
  }

  // --------------------------------------------------------------------------------------------- constants
  void load_constant_idiom(const Constant& constant, int reg) override {
    const Xmm low(reg);
    if (constant.is_mask_bits)
      load_mask(constant.bits(), Opmask(reg));
    else if (constant.is_zero())
      reg < 16 ? a_.vpxor(low, low, low) : a_.vpxord(low, low, low);
    else
      a_.vpternlogd(Zmm(reg), Zmm(reg), Zmm(reg), 0xff);
  }

  void load_mask(uint64_t bits, const Opmask& to) {
    if (bits == 0) return a_.kxorq(to, to, to);
    if (bits == ~uint64_t{0}) return a_.kxnorq(to, to, to);
    a_.mov(a_.rax, bits);
    a_.kmovq(to, a_.rax);
  }

  void swap_vectors(int x, int y) override {
    const Zmm p(x), q(y);
    a_.vpxord(p, p, q);
    a_.vpxord(q, p, q);
    a_.vpxord(p, p, q);
  }
};

}  // namespace

std::unique_ptr<Emitter> make_avx512_emitter(const ir::Program& program, const RegisterMap& map,
                                             Assembler& assembler, const uint8_t* pool) {
  return std::make_unique<Avx512Emitter>(program, map, assembler, pool);
}

}  // namespace pooljit::jit
