// avx2: masks are vectors, all ones where a lane is set; there is no masked access of 1- or 2-byte elements
// and none but `eq` and signed `gt` among the integer comparisons (ir/passes/legal.cpp).
#include <bit>

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
using namespace x86;

// By bytes of the elements: 1, 2, 4, 8.
constexpr VectorInstruction equals[] = {vpcmpeqb, vpcmpeqw, vpcmpeqd, vpcmpeqq};
constexpr VectorInstruction exceeds[] = {vpcmpgtb, vpcmpgtw, vpcmpgtd, vpcmpgtq};

class Avx2Emitter final : public Emitter {
 public:
  using Emitter::Emitter;

 private:
  // ------------------------------------------------------------------------------------------------ memory
  // The pass-through is zeros.
  void masked_load(const Inst& inst, const MemoryOperand& from) override {
    const Vec to = result(inst);
    a_.write(is_dword(inst.results[0]) ? vmaskmovps : vmaskmovpd, to, constant_or_register(0, to), from);
  }

  void masked_store(const Inst& inst, const MemoryOperand& to) override {
    const Vec from = source_register(inst, 0), mask = source_register(inst, 1);
    a_.write(is_dword(inst.args[0]) ? vmaskmovps_m : vmaskmovpd_m, from, mask, to);
  }

  bool is_dword(ir::Value value) const { return ir::bytes(type(value).dtype) == 4; }

  // Operand `arg`; a constant without a register is loaded into `to`.
  Vec constant_or_register(int arg, Vec to) {
    const Place place = place_of(arg);
    if (place.kind == Place::Kind::reg) return Vec::of(place.number, to.bytes);
    load_constant(place.number, to.number);
    return to;
  }

  // ------------------------------------------------------------------------------------------------- masks
  void compare(const Inst& inst) override {
    const Vec to = result(inst), x = source_register(inst, 0);
    const Source y = source(inst, 1);
    const DType compared = type(inst.args[0]).dtype;
    if (ir::is_float(compared))
      return a_.write(compared == DType::f32 ? vcmpps : vcmppd, to, x, y, float_predicate(inst.pred));
    const auto& by_width = inst.pred == Predicate::eq ? equals : exceeds;
    a_.write(by_width[std::countr_zero(static_cast<unsigned>(ir::bytes(compared)))], to, x, y);
  }

  void select(const Inst& inst) override {
    const Vec to = result(inst);
    const int width = ir::bytes(type(inst.args[0]).dtype);
    const Place mask_place = place_of(0);
    if (mask_place.kind == Place::Kind::constant && width >= 4) {
      const auto imm = static_cast<int>(set_lanes(map_.pool().at(mask_place.number), width));
      return a_.write(width == 4 ? vblendps : vblendpd, to, source_register(inst, 2), source(inst, 1), imm);
    }
    const Vec mask = constant_or_register(0, to);
    if (is_left_out(1)) return a_.write(vpandn, to, mask, source_register(inst, 2));
    if (is_left_out(2)) {
      const DType dtype = type(inst.results[0]).dtype;
      const auto& both = dtype == DType::f32 ? vandps : dtype == DType::f64 ? vandpd : vpand;
      return a_.write(both, to, mask, source(inst, 1));
    }
    a_.write(width == 4   ? vblendvps
             : width == 8 ? vblendvpd
                          : vpblendvb,
             to, source_register(inst, 2), source(inst, 1), mask.number << 4);
  }

  // Zeros that the mask's bits put there, by one operation where a blend is up to three (ConstantPlacer).
  bool is_left_out(int arg) const {
    const Place place = place_of(arg);
    return place.kind == Place::Kind::constant && map_.pool().at(place.number).is_zero();
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

  void integer_logic(Op op, Vec to, Vec x, const Source& y) override {
    a_.write(op == Op::and_ ? vpand : vpor, to, x, y);
  }

  void move_mask(int, int) override { POOLJIT_CHECK(false, "masks are vectors here"); }
  void swap_masks(int, int) override { POOLJIT_CHECK(false, "masks are vectors here"); }

  // ------------------------------------------------------------------------------------------------- lanes
  void splat(const ir::Type& of, Vec to, const Xbyak::Reg64& value) override {
    const Vec low = to.sized(16);
    a_.vmovq(Assembler::xmm(low), value);
    splat_unit(ir::bytes(of.dtype), to, low);
  }

  void blend(const Inst& inst, const ShuffleForm& form) override {
    const Vec to = result(inst), x = source_register(inst, 0).sized(to.bytes);
    const Source y = source(inst, 1);
    if (form.width >= 4) {
      unsigned dwords = 0;
      for (int i = 0; i < 8; ++i) dwords |= static_cast<unsigned>(form.imm >> i * 4 / form.width & 1) << i;
      return a_.write(vpblendd, to, x, y, static_cast<int>(dwords));
    }
    const Vec mask = constant_or_register(RegisterMap::implied, to);
    a_.write(vpblendvb, to, x, y, mask.number << 4);
  }

  void extract(Vec to, Vec from, const ShuffleForm&) override {
    a_.write(vextracti128, from.sized(32), to.sized(16), 1);
  }

  void insert(Vec to, Vec x, const Source& y, const ShuffleForm& form) override {
    const Source part = y.is_memory() ? y : Source(y.reg().sized(16));
    a_.write(vinserti128, to, x, part, static_cast<int>(form.imm));
  }

  // --------------------------------------------------------------------------------------------- constants
  void load_constant_idiom(const Constant& constant, int reg) override {
    const Vec all = Vec::of(reg, 32), low = Vec::of(reg, 16);
    if (constant.is_zero())
      a_.write(vpxor, low, low, low);
    else
      a_.write(vpcmpeqd, all, all, all);
  }

  void swap_vectors(int x, int y) override {
    const Vec p = Vec::of(x, 32), q = Vec::of(y, 32);
    a_.write(vpxor, p, p, q);
    a_.write(vpxor, q, p, q);
    a_.write(vpxor, p, p, q);
  }
};

}  // namespace

std::unique_ptr<Emitter> make_avx2_emitter(const ir::Program& program, const RegisterMap& map,
                                           Assembler& assembler) {
  return std::make_unique<Avx2Emitter>(program, map, assembler);
}

}  // namespace pooljit::jit
