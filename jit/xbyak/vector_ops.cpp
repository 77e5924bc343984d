// Vector instructions that all ISAs share, as tables of op x type; odd cases are named functions below them.
// The assembler takes the VEX encoding wherever there is one, so that the tables serve avx2 and avx512.
#include <iterator>
#include <utility>

#include "ir/check.h"
#include "jit/xbyak/emitter.h"

namespace pooljit::jit {

using ir::DType;
using ir::Inst;
using ir::Op;
using ir::Type;
using Xbyak::Operand;
using Xbyak::Reg32;
using Xbyak::Xmm;

namespace {

using Three = void (*)(Assembler&, const Xmm&, const Xmm&, const Operand&);
using Two = void (*)(Assembler&, const Xmm&, const Operand&);
using Shift = void (*)(Assembler&, const Xmm&, const Xmm&, uint8_t);

#define THREE(name) [](Assembler& a, const Xmm& to, const Xmm& x, const Operand& y) { a.name(to, x, y); }
#define TWO(name) [](Assembler& a, const Xmm& to, const Operand& from) { a.name(to, from); }
#define NARROW(name) \
  [](Assembler& a, const Xmm& to, const Operand& from) { a.name(to, static_cast<const Xmm&>(from)); }
// To nearest, ties to even, whatever MXCSR says.
#define TO_F16(name) \
  [](Assembler& a, const Xmm& to, const Operand& from) { a.name(to, static_cast<const Xmm&>(from), 0); }
#define SHIFT(name) [](Assembler& a, const Xmm& to, const Xmm& x, uint8_t bits) { a.name(to, x, bits); }

struct ThreeRow {
  Op op;
  DType dtype;
  Three emit;
};
constexpr ThreeRow three_rows[] = {
    {Op::add, DType::f32, THREE(vaddps)},   {Op::add, DType::f64, THREE(vaddpd)},
    {Op::add, DType::u8, THREE(vpaddb)},    {Op::add, DType::u16, THREE(vpaddw)},
    {Op::add, DType::u32, THREE(vpaddd)},   {Op::add, DType::u64, THREE(vpaddq)},
    {Op::sub, DType::f32, THREE(vsubps)},   {Op::sub, DType::f64, THREE(vsubpd)},
    {Op::sub, DType::u8, THREE(vpsubb)},    {Op::sub, DType::u16, THREE(vpsubw)},
    {Op::sub, DType::u32, THREE(vpsubd)},   {Op::sub, DType::u64, THREE(vpsubq)},
    {Op::mul, DType::f32, THREE(vmulps)},   {Op::mul, DType::f64, THREE(vmulpd)},
    {Op::mul, DType::u16, THREE(vpmullw)},  {Op::mul, DType::u32, THREE(vpmulld)},
    {Op::mul, DType::u64, THREE(vpmullq)},  {Op::mulh, DType::u16, THREE(vpmulhuw)},
    {Op::mulh, DType::i16, THREE(vpmulhw)}, {Op::div, DType::f32, THREE(vdivps)},
    {Op::div, DType::f64, THREE(vdivpd)},   {Op::min, DType::f32, THREE(vminps)},
    {Op::min, DType::f64, THREE(vminpd)},   {Op::min, DType::u8, THREE(vpminub)},
    {Op::min, DType::i8, THREE(vpminsb)},   {Op::min, DType::u16, THREE(vpminuw)},
    {Op::min, DType::i16, THREE(vpminsw)},  {Op::min, DType::u32, THREE(vpminud)},
    {Op::min, DType::i32, THREE(vpminsd)},  {Op::min, DType::u64, THREE(vpminuq)},
    {Op::min, DType::i64, THREE(vpminsq)},  {Op::max, DType::f32, THREE(vmaxps)},
    {Op::max, DType::f64, THREE(vmaxpd)},   {Op::max, DType::u8, THREE(vpmaxub)},
    {Op::max, DType::i8, THREE(vpmaxsb)},   {Op::max, DType::u16, THREE(vpmaxuw)},
    {Op::max, DType::i16, THREE(vpmaxsw)},  {Op::max, DType::u32, THREE(vpmaxud)},
    {Op::max, DType::i32, THREE(vpmaxsd)},  {Op::max, DType::u64, THREE(vpmaxuq)},
    {Op::max, DType::i64, THREE(vpmaxsq)},  {Op::and_, DType::f32, THREE(vandps)},
    {Op::and_, DType::f64, THREE(vandpd)},  {Op::or_, DType::f32, THREE(vorps)},
    {Op::or_, DType::f64, THREE(vorpd)},
};

struct ShiftRow {
  Op op;
  DType dtype;
  Shift emit;
};
constexpr ShiftRow shift_rows[] = {
    {Op::shl, DType::u16, SHIFT(vpsllw)}, {Op::shl, DType::u32, SHIFT(vpslld)},
    {Op::shl, DType::u64, SHIFT(vpsllq)}, {Op::shr, DType::u16, SHIFT(vpsrlw)},
    {Op::shr, DType::u32, SHIFT(vpsrld)}, {Op::shr, DType::u64, SHIFT(vpsrlq)},
    {Op::shr, DType::i16, SHIFT(vpsraw)}, {Op::shr, DType::i32, SHIFT(vpsrad)},
    {Op::shr, DType::i64, SHIFT(vpsraq)},
};

// Integers widen by the source's sign; the target's does not matter. Narrowing: `saturate` rows by the sign.
struct ConvertRow {
  DType from, to;
  bool saturate;
  Two emit;
};
constexpr ConvertRow convert_rows[] = {
    {DType::u8, DType::u16, false, TWO(vpmovzxbw)},    {DType::u8, DType::u32, false, TWO(vpmovzxbd)},
    {DType::u8, DType::u64, false, TWO(vpmovzxbq)},    {DType::u16, DType::u32, false, TWO(vpmovzxwd)},
    {DType::u16, DType::u64, false, TWO(vpmovzxwq)},   {DType::u32, DType::u64, false, TWO(vpmovzxdq)},
    {DType::i8, DType::u16, false, TWO(vpmovsxbw)},    {DType::i8, DType::u32, false, TWO(vpmovsxbd)},
    {DType::i8, DType::u64, false, TWO(vpmovsxbq)},    {DType::i16, DType::u32, false, TWO(vpmovsxwd)},
    {DType::i16, DType::u64, false, TWO(vpmovsxwq)},   {DType::i32, DType::u64, false, TWO(vpmovsxdq)},
    {DType::u16, DType::u8, false, NARROW(vpmovwb)},   {DType::u32, DType::u8, false, NARROW(vpmovdb)},
    {DType::u32, DType::u16, false, NARROW(vpmovdw)},  {DType::u64, DType::u8, false, NARROW(vpmovqb)},
    {DType::u64, DType::u16, false, NARROW(vpmovqw)},  {DType::u64, DType::u32, false, NARROW(vpmovqd)},
    {DType::u16, DType::u8, true, NARROW(vpmovuswb)},  {DType::u32, DType::u8, true, NARROW(vpmovusdb)},
    {DType::u32, DType::u16, true, NARROW(vpmovusdw)}, {DType::u64, DType::u8, true, NARROW(vpmovusqb)},
    {DType::u64, DType::u16, true, NARROW(vpmovusqw)}, {DType::u64, DType::u32, true, NARROW(vpmovusqd)},
    {DType::i16, DType::i8, true, NARROW(vpmovswb)},   {DType::i32, DType::i8, true, NARROW(vpmovsdb)},
    {DType::i32, DType::i16, true, NARROW(vpmovsdw)},  {DType::i64, DType::i8, true, NARROW(vpmovsqb)},
    {DType::i64, DType::i16, true, NARROW(vpmovsqw)},  {DType::i64, DType::i32, true, NARROW(vpmovsqd)},
    {DType::i32, DType::f32, false, TWO(vcvtdq2ps)},   {DType::i32, DType::f64, false, TWO(vcvtdq2pd)},
    {DType::i64, DType::f32, false, TWO(vcvtqq2ps)},   {DType::i64, DType::f64, false, TWO(vcvtqq2pd)},
    {DType::f32, DType::i32, false, TWO(vcvtps2dq)},   {DType::f32, DType::i64, false, TWO(vcvtps2qq)},
    {DType::f64, DType::i32, false, TWO(vcvtpd2dq)},   {DType::f64, DType::i64, false, TWO(vcvtpd2qq)},
    {DType::f16, DType::f32, false, TWO(vcvtph2ps)},   {DType::f32, DType::f16, false, TO_F16(vcvtps2ph)},
    {DType::f32, DType::f64, false, TWO(vcvtps2pd)},   {DType::f64, DType::f32, false, TWO(vcvtpd2ps)},
};

#undef THREE
#undef TWO
#undef NARROW
#undef TO_F16
#undef SHIFT

// The rows by op and dtype. Those that hold for both signs are listed as unsigned.
template <typename Emit>
class ByOpAndType {
 public:
  template <typename Rows>
  constexpr explicit ByOpAndType(const Rows& rows) {
    for (const auto& row : rows) at(row.op, row.dtype) = row.emit;
    for (const ir::DTypeInfo& type : ir::dtype_table)
      for (size_t op = 0; op < ops; ++op)
        if (Emit& emit = at(static_cast<Op>(op), type.dtype); !emit && !ir::is_float(type.dtype))
          emit = at(static_cast<Op>(op), ir::unsigned_of(type.dtype));
  }
  Emit operator()(Op op, DType dtype) const {
    const Emit found = emits_[static_cast<size_t>(op)][static_cast<size_t>(dtype)];
    POOLJIT_CHECK(found, ir::info(op).text);
    return found;
  }

 private:
#define OP(name, group, operands, result, effect, equation) +1
  static constexpr size_t ops = 0
#include "ir/ops.def"
      ;
#undef OP
  constexpr Emit& at(Op op, DType dtype) {
    return emits_[static_cast<size_t>(op)][static_cast<size_t>(dtype)];
  }

  Emit emits_[ops][std::size(ir::dtype_table)] = {};
};
constexpr ByOpAndType<Three> three_operand_of(three_rows);
constexpr ByOpAndType<Shift> shift_of(shift_rows);

Two find_convert(DType from, DType to, bool saturate) {
  const auto match = [&](DType wanted_from, DType wanted_to) -> Two {
    for (const ConvertRow& row : convert_rows)
      if (row.from == wanted_from && row.to == wanted_to && row.saturate == saturate) return row.emit;
    return nullptr;
  };
  if (const Two exact = match(from, to)) return exact;
  POOLJIT_CHECK(!ir::is_float(from) && !ir::is_float(to), "a conversion that is not legal");
  const DType unsigned_to = ir::unsigned_of(to);
  const Two found =
      ir::bytes(to) > ir::bytes(from) ? match(from, unsigned_to) : match(ir::unsigned_of(from), unsigned_to);
  POOLJIT_CHECK(found, "a conversion that is not legal");
  return found;
}

}  // namespace

// ------------------------------------------------------------------------------------------------ arithmetic
void Emitter::three_operand(const Inst& inst) {
  Source first = source(inst, 0), second = source(inst, 1);
  if (first.is_memory()) std::swap(first, second);  // the register map does this to ops that commute only
  const DType dtype = type(inst.results[0]).dtype;
  if ((inst.op == Op::and_ || inst.op == Op::or_) && !ir::is_float(dtype))
    return integer_logic(inst.op, result(inst), first.reg(), second);
  Xmm to = result(inst);
  if (map_.liveness().is_merged(at_)) {  // the mask is that of the select behind
    const ir::Value mask = program_.insts[static_cast<size_t>(at_) + 1].args[0];
    to = to | Xbyak::Opmask(map_.place(mask).number);
  }
  three_operand_of(inst.op, dtype)(a_, to, first.reg(), second);
}

// The result has the register of what stands where there is no NaN, or one that is neither operand's.
void Emitter::propagate(const Inst& inst) {
  const Xmm to = result(inst), x = source_register(inst, 0), y = source_register(inst, 1);
  const Source responses = implied_source(type(inst.results[0]).vector_bytes());
  if (to.getIdx() != y.getIdx()) a_.vmovaps(to, y);
  if (type(inst.results[0]).dtype == DType::f64)
    a_.vfixupimmpd(to, x, responses, 0);
  else
    a_.vfixupimmps(to, x, responses, 0);
}

// to = a * b + c, with `to` as the operand whose register it has.
void Emitter::fma(const Inst& inst) {
  const Xmm to = result(inst), x = source_register(inst, 0), y = source_register(inst, 1),
            z = source_register(inst, 2);
  const bool is_double = type(inst.results[0]).dtype == DType::f64;
  const auto product_plus = [&](const Xmm& factor, const Xmm& other) {  // factor's register is the result's
    is_double ? a_.vfmadd213pd(factor, other, z) : a_.vfmadd213ps(factor, other, z);
  };
  if (to.getIdx() != z.getIdx() && to.getIdx() == x.getIdx()) return product_plus(x, y);
  if (to.getIdx() != z.getIdx() && to.getIdx() == y.getIdx()) return product_plus(y, x);
  if (to.getIdx() != z.getIdx()) a_.vmovaps(to, z);
  is_double ? a_.vfmadd231pd(to, x, y) : a_.vfmadd231ps(to, x, y);
}

void Emitter::sqrt(const Inst& inst) {
  if (type(inst.results[0]).dtype == DType::f64)
    a_.vsqrtpd(result(inst), source(inst, 0));
  else
    a_.vsqrtps(result(inst), source(inst, 0));
}

void Emitter::shift(const Inst& inst) {
  const auto bits = static_cast<uint8_t>(inst.imm);
  shift_of(inst.op, type(inst.results[0]).dtype)(a_, result(inst), source_register(inst, 0), bits);
}

void Emitter::convert(const Inst& inst) {
  const Type& from = type(inst.args[0]);
  const Type& to = type(inst.results[0]);
  find_convert(from.dtype, to.dtype, inst.saturate)(a_, result(inst), source(inst, 0));
}

// ---------------------------------------------------------------------------------------------------- memory
// Touches exactly the vector's bytes.
void Emitter::load(const Inst& inst) {
  if (map_.place(inst.results[0]).kind == Place::Kind::folded) return;
  const int bytes = type(inst.results[0]).vector_bytes();
  const Xbyak::Address from = address_of(inst.addr, bytes);
  if (!inst.args.empty()) return masked_load(inst, from);
  const Xmm to = result(inst);
  const Reg32 scratch(scratch_register);
  switch (bytes) {
    case 1:
    case 2:
      a_.movzx(scratch, from);
      return a_.vmovd(to, scratch);
    case 4:
      return a_.vmovd(to, from);
    case 8:
      return a_.vmovq(to, from);
    default:
      return a_.vmovups(to, from);
  }
}

void Emitter::store(const Inst& inst) {
  const int bytes = type(inst.args[0]).vector_bytes();
  const Xbyak::Address to = address_of(inst.addr, bytes);
  if (inst.args.size() > 1) return masked_store(inst, to);
  const Xmm from = source_register(inst, 0);
  switch (bytes) {
    case 1:
      return a_.vpextrb(to, from, 0);
    case 2:
      return a_.vpextrw(to, from, 0);
    case 4:
      return a_.vmovd(to, from);
    case 8:
      return a_.vmovq(to, from);
    default:
      return inst.non_temporal ? a_.vmovntps(to, from) : a_.vmovups(to, from);
  }
}

}  // namespace pooljit::jit
