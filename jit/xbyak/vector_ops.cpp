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
using namespace x86;

namespace {

using Two = void (*)(Assembler&, const Xmm&, const Operand&);

#define TWO(name) [](Assembler& a, const Xmm& to, const Operand& from) { a.name(to, from); }
#define NARROW(name) \
  [](Assembler& a, const Xmm& to, const Operand& from) { a.name(to, static_cast<const Xmm&>(from)); }
// To nearest, ties to even, whatever MXCSR says.
#define TO_F16(name) \
  [](Assembler& a, const Xmm& to, const Operand& from) { a.name(to, static_cast<const Xmm&>(from), 0); }

struct OpRow {
  Op op;
  DType dtype;
  VectorInstruction instruction;
};
constexpr OpRow three_rows[] = {
    {Op::add, DType::f32, vaddps},   {Op::add, DType::f64, vaddpd},    {Op::add, DType::u8, vpaddb},
    {Op::add, DType::u16, vpaddw},   {Op::add, DType::u32, vpaddd},    {Op::add, DType::u64, vpaddq},
    {Op::sub, DType::f32, vsubps},   {Op::sub, DType::f64, vsubpd},    {Op::sub, DType::u8, vpsubb},
    {Op::sub, DType::u16, vpsubw},   {Op::sub, DType::u32, vpsubd},    {Op::sub, DType::u64, vpsubq},
    {Op::mul, DType::f32, vmulps},   {Op::mul, DType::f64, vmulpd},    {Op::mul, DType::u16, vpmullw},
    {Op::mul, DType::u32, vpmulld},  {Op::mul, DType::u64, vpmullq},   {Op::mulh, DType::u16, vpmulhuw},
    {Op::mulh, DType::i16, vpmulhw}, {Op::mull, DType::u64, vpmuludq}, {Op::div, DType::f32, vdivps},
    {Op::div, DType::f64, vdivpd},   {Op::min, DType::f32, vminps},    {Op::min, DType::f64, vminpd},
    {Op::min, DType::u8, vpminub},   {Op::min, DType::i8, vpminsb},    {Op::min, DType::u16, vpminuw},
    {Op::min, DType::i16, vpminsw},  {Op::min, DType::u32, vpminud},   {Op::min, DType::i32, vpminsd},
    {Op::min, DType::u64, vpminuq},  {Op::min, DType::i64, vpminsq},   {Op::max, DType::f32, vmaxps},
    {Op::max, DType::f64, vmaxpd},   {Op::max, DType::u8, vpmaxub},    {Op::max, DType::i8, vpmaxsb},
    {Op::max, DType::u16, vpmaxuw},  {Op::max, DType::i16, vpmaxsw},   {Op::max, DType::u32, vpmaxud},
    {Op::max, DType::i32, vpmaxsd},  {Op::max, DType::u64, vpmaxuq},   {Op::max, DType::i64, vpmaxsq},
    {Op::and_, DType::f32, vandps},  {Op::and_, DType::f64, vandpd},   {Op::or_, DType::f32, vorps},
    {Op::or_, DType::f64, vorpd},
};

constexpr OpRow shift_rows[] = {
    {Op::shl, DType::u16, vpsllw}, {Op::shl, DType::u32, vpslld}, {Op::shl, DType::u64, vpsllq},
    {Op::shr, DType::u16, vpsrlw}, {Op::shr, DType::u32, vpsrld}, {Op::shr, DType::u64, vpsrlq},
    {Op::shr, DType::i16, vpsraw}, {Op::shr, DType::i32, vpsrad}, {Op::shr, DType::i64, vpsraq},
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

#undef TWO
#undef NARROW
#undef TO_F16

// The rows by op and dtype. Those that hold for both signs are listed as unsigned.
class ByOpAndType {
 public:
  template <typename Rows>
  constexpr explicit ByOpAndType(const Rows& rows) {
    for (const OpRow& row : rows) at(row.op, row.dtype) = row.instruction;
    for (const ir::DTypeInfo& type : ir::dtype_table)
      for (size_t op = 0; op < ops; ++op)
        if (auto& found = at(static_cast<Op>(op), type.dtype); found.opcode == 0 && !ir::is_float(type.dtype))
          found = at(static_cast<Op>(op), ir::unsigned_of(type.dtype));
  }
  const VectorInstruction& operator()(Op op, DType dtype) const {
    const VectorInstruction& found = by_op_[static_cast<size_t>(op)][static_cast<size_t>(dtype)];
    POOLJIT_CHECK(found.opcode != 0, ir::info(op).text);
    return found;
  }

 private:
#define OP(name, group, operands, result, effect, equation) +1
  static constexpr size_t ops = 0
#include "ir/ops.def"
      ;
#undef OP
  constexpr VectorInstruction& at(Op op, DType dtype) {
    return by_op_[static_cast<size_t>(op)][static_cast<size_t>(dtype)];
  }

  VectorInstruction by_op_[ops][std::size(ir::dtype_table)] = {};
};
constexpr ByOpAndType three_operand_of(three_rows);
constexpr ByOpAndType shift_of(shift_rows);

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
  Vec to = result(inst);
  if (map_.liveness().is_merged(at_)) {  // the mask is that of the select behind
    const ir::Value mask = program_.insts[static_cast<size_t>(at_) + 1].args[0];
    to = to.masked(map_.place(mask).number);
  }
  a_.write(three_operand_of(inst.op, dtype), to, first.reg(), second);
}

// The result has the register of what stands where there is no NaN, or one that is neither operand's.
void Emitter::propagate(const Inst& inst) {
  const Vec to = result(inst), x = source_register(inst, 0), y = source_register(inst, 1);
  const Source responses = implied_source(type(inst.results[0]).vector_bytes());
  if (to.number != y.number) a_.write(vmovaps, to, y);
  a_.write(type(inst.results[0]).dtype == DType::f64 ? vfixupimmpd : vfixupimmps, to, x, responses, 0);
}

// to = a * b + c, with `to` as the operand whose register it has.
void Emitter::fma(const Inst& inst) {
  const Vec to = result(inst), x = source_register(inst, 0), y = source_register(inst, 1),
            z = source_register(inst, 2);
  const bool is_double = type(inst.results[0]).dtype == DType::f64;
  const auto product_plus = [&](Vec factor, Vec other) {  // factor's register is the result's
    a_.write(is_double ? vfmadd213pd : vfmadd213ps, factor, other, z);
  };
  if (to.number != z.number && to.number == x.number) return product_plus(x, y);
  if (to.number != z.number && to.number == y.number) return product_plus(y, x);
  if (to.number != z.number) a_.write(vmovaps, to, z);
  a_.write(is_double ? vfmadd231pd : vfmadd231ps, to, x, y);
}

void Emitter::sqrt(const Inst& inst) {
  a_.write(type(inst.results[0]).dtype == DType::f64 ? vsqrtpd : vsqrtps, result(inst), source(inst, 0));
}

void Emitter::shift(const Inst& inst) {
  a_.write_shift(shift_of(inst.op, type(inst.results[0]).dtype), result(inst), source_register(inst, 0),
                 static_cast<int>(inst.imm));
}

void Emitter::convert(const Inst& inst) {
  const Type& from = type(inst.args[0]);
  const Type& to = type(inst.results[0]);
  const Two emit = find_convert(from.dtype, to.dtype, inst.saturate);
  const Xmm converted = Assembler::xmm(result(inst));
  const Source operand = source(inst, 0);
  if (operand.is_memory())
    emit(a_, converted, a_.address(operand.memory()));
  else
    emit(a_, converted, Assembler::xmm(operand.reg()));
}

// ---------------------------------------------------------------------------------------------------- memory
// Touches exactly the vector's bytes.
void Emitter::load(const Inst& inst) {
  if (map_.place(inst.results[0]).kind == Place::Kind::folded) return;
  const int bytes = type(inst.results[0]).vector_bytes();
  const MemoryOperand from = address_of(inst.addr, bytes);
  if (!inst.args.empty()) return masked_load(inst, from);
  const Vec to = result(inst);
  if (bytes >= 16) return a_.write(vmovups, to, from);
  const Reg32 scratch(scratch_register);
  switch (bytes) {
    case 4:
      return a_.vmovd(Assembler::xmm(to), a_.address(from));
    case 8:
      return a_.vmovq(Assembler::xmm(to), a_.address(from));
    default:
      a_.movzx(scratch, a_.address(from));
      return a_.vmovd(Assembler::xmm(to), scratch);
  }
}

void Emitter::store(const Inst& inst) {
  const int bytes = type(inst.args[0]).vector_bytes();
  const MemoryOperand to = address_of(inst.addr, bytes);
  if (inst.args.size() > 1) return masked_store(inst, to);
  const Vec from = source_register(inst, 0);
  streams_ |= inst.non_temporal;
  if (bytes >= 16) return a_.write(inst.non_temporal ? vmovntps_m : vmovups_m, from, to);
  const Xmm low = Assembler::xmm(from);
  switch (bytes) {
    case 1:
      return a_.vpextrb(a_.address(to), low, 0);
    case 2:
      return a_.vpextrw(a_.address(to), low, 0);
    case 4:
      return a_.vmovd(a_.address(to), low);
    default:
      return a_.vmovq(a_.address(to), low);
  }
}

}  // namespace pooljit::jit
