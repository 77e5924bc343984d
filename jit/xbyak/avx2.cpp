// avx2: masks are vectors, all ones where a lane is set; there is no masked access of 1- or 2-byte elements
// and none but `eq` and signed `gt` among the integer comparisons (ir/passes/legal.cpp).
#include "ir/check.h"
#include "ir/passes/shuffle_units.h"
#include "jit/xbyak/isa_emitters.h"

namespace pooljit::jit {
namespace {

using ir::DType;
using ir::Inst;
using ir::Op;
using ir::Predicate;
using ir::ShuffleForm;
using Xbyak::Xmm;
using Xbyak::Ymm;

class Avx2Emitter final : public Emitter {
 public:
  using Emitter::Emitter;

 private:
  // ------------------------------------------------------------------------------------------------ memory
  // The pass-through is zeros.
  void masked_load(const Inst& inst, const Xbyak::Address& from) override {
    const Xmm to = result(inst);
    const Xmm mask = constant_or_register(0, to);
    if (is_dword(inst.results[0]))
      a_.vmaskmovps(to, mask, from);
    else
      a_.vmaskmovpd(to, mask, from);
  }

  void masked_store(const Inst& inst, const Xbyak::Address& to) override {
    const Xmm from = source_register(inst, 0), mask = source_register(inst, 1);
    if (is_dword(inst.args[0]))
      a_.vmaskmovps(to, mask, from);
    else
      a_.vmaskmovpd(to, mask, from);
  }

  bool is_dword(ir::Value value) const { return ir::bytes(type(value).dtype) == 4; }

  // Operand `arg`; a constant without a register is loaded into `to`.
  Xmm constant_or_register(int arg, const Xmm& to) {
    const Place place = place_of(arg);
    if (place.kind == Place::Kind::reg) return {to.getKind(), place.number};
    load_constant(place.number, to.getIdx());
    return to;
  }

  // ------------------------------------------------------------------------------------------------- masks
  void compare(const Inst& inst) override {
    const Xmm to = result(inst), x = source_register(inst, 0);
    const Source y = source(inst, 1);
    const ir::Type& compared = type(inst.args[0]);
    if (compared.dtype == DType::f32) return a_.vcmpps(to, x, y, float_predicate(inst.pred));
    if (compared.dtype == DType::f64) return a_.vcmppd(to, x, y, float_predicate(inst.pred));
    const bool equal = inst.pred == Predicate::eq;
    switch (ir::bytes(compared.dtype)) {
      case 1:
        return equal ? a_.vpcmpeqb(to, x, y) : a_.vpcmpgtb(to, x, y);
      case 2:
        return equal ? a_.vpcmpeqw(to, x, y) : a_.vpcmpgtw(to, x, y);
      case 4:
        return equal ? a_.vpcmpeqd(to, x, y) : a_.vpcmpgtd(to, x, y);
      default:
        return equal ? a_.vpcmpeqq(to, x, y) : a_.vpcmpgtq(to, x, y);
    }
  }

  void select(const Inst& inst) override {
    const Xmm to = result(inst), otherwise = source_register(inst, 2);
    const Source chosen = source(inst, 1);
    const int width = ir::bytes(type(inst.args[0]).dtype);
    const Place mask_place = place_of(0);
    if (mask_place.kind == Place::Kind::constant && width >= 4) {
      const auto imm = static_cast<uint8_t>(set_lanes(map_.pool().at(mask_place.number), width));
      return width == 4 ? a_.vblendps(to, otherwise, chosen, imm) : a_.vblendpd(to, otherwise, chosen, imm);
    }
    const Xmm mask = constant_or_register(0, to);
    if (width == 4)
      a_.vblendvps(to, otherwise, chosen, mask);
    else if (width == 8)
      a_.vblendvpd(to, otherwise, chosen, mask);
    else
      a_.vpblendvb(to, otherwise, chosen, mask);
  }

  static unsigned set_lanes(const Constant& mask, int width) {
    unsigned lanes = 0;
    for (int i = 0; i * width < mask.size; ++i)
      lanes |= static_cast<unsigned>(mask.bytes[static_cast<size_t>(i) * static_cast<size_t>(width)] & 1)
               << i;
    return lanes;
  }

  void mask_logic(const Inst& inst) override {
    Source x = source(inst, 0), y = source(inst, 1);
    if (x.is_memory()) std::swap(x, y);
    integer_logic(inst.op, result(inst), x.reg(), y);
  }

  void integer_logic(Op op, const Xmm& to, const Xmm& x, const Source& y) override {
    op == Op::and_ ? a_.vpand(to, x, y) : a_.vpor(to, x, y);
  }

  void move_mask(int, int) override { POOLJIT_CHECK(false, "masks are vectors here"); }
  void swap_masks(int, int) override { POOLJIT_CHECK(false, "masks are vectors here"); }

  // ------------------------------------------------------------------------------------------------- lanes
  void splat(const ir::Type& of, const Xmm& to, const Xbyak::Reg64& value) override {
    const Xmm low(to.getIdx());
    a_.vmovq(low, value);
    splat_unit(ir::bytes(of.dtype), to, low);
  }

  void blend(const Inst& inst, const ShuffleForm& form) override {
    const Xmm to = result(inst),
              x = vector_register(source_register(inst, 0).getIdx(), type(inst.results[0]).vector_bytes());
    const Source y = source(inst, 1);
    if (form.width >= 4) {
      unsigned dwords = 0;
      for (int i = 0; i < 8; ++i) dwords |= static_cast<unsigned>(form.imm >> i * 4 / form.width & 1) << i;
      return a_.vpblendd(to, x, y, static_cast<uint8_t>(dwords));
    }
    a_.vpblendvb(to, x, y, constant_or_register(RegisterMap::implied, to));
  }

  void extract(const Xmm& to, const Xmm& from, const ShuffleForm&) override {
    a_.vextracti128(Xmm(to.getIdx()), static_cast<const Ymm&>(from), 1);
  }

  void insert(const Xmm& to, const Xmm& x, const Source& y, const ShuffleForm& form) override {
    const auto number = static_cast<uint8_t>(form.imm);
    const Source part = y.is_memory() ? y : Source(Xmm(y.reg().getIdx()));
    a_.vinserti128(static_cast<const Ymm&>(to), static_cast<const Ymm&>(x), part, number);
  }

  // --------------------------------------------------------------------------------------------- constants
  void load_constant_idiom(const Constant& constant, int reg) override {
    if (constant.is_zero())
      a_.vpxor(Xmm(reg), Xmm(reg), Xmm(reg));
    else
      a_.vpcmpeqd(Ymm(reg), Ymm(reg), Ymm(reg));
  }

  void swap_vectors(int x, int y) override {
    const Ymm p(x), q(y);
    a_.vpxor(p, p, q);
    a_.vpxor(q, p, q);
    a_.vpxor(p, p, q);
  }
};

}  // namespace

std::unique_ptr<Emitter> make_avx2_emitter(const ir::Program& program, const RegisterMap& map,
                                           Assembler& assembler, const uint8_t* pool) {
  return std::make_unique<Avx2Emitter>(program, map, assembler, pool);
}

}  // namespace pooljit::jit
