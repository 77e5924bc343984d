#include "jit/llvm/lanes.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

namespace pooljit::jit {

using ir::DType;
using ir::Inst;
using ir::Op;

// Halves are their bits: LLVM's own types for them are lowered to calls where it knows no better.
bool is_llvm_float(DType dtype) { return ir::is_float(dtype) && !ir::is_half(dtype); }

llvm::Type* lane_type(llvm::LLVMContext& context, DType dtype) {
  const unsigned bits = static_cast<unsigned>(ir::info(dtype).bits);
  if (!is_llvm_float(dtype)) return llvm::Type::getIntNTy(context, bits);
  return bits == 32 ? llvm::Type::getFloatTy(context) : llvm::Type::getDoubleTy(context);
}

llvm::Type* value_type(llvm::LLVMContext& context, const ir::Type& type) {
  const auto lanes = static_cast<unsigned>(type.lanes);
  switch (type.kind) {
    case ir::Type::Kind::index:
      return llvm::Type::getInt64Ty(context);
    case ir::Type::Kind::ptr:
      return llvm::PointerType::get(context, 0);
    case ir::Type::Kind::mask:
      return llvm::FixedVectorType::get(llvm::Type::getInt1Ty(context), lanes);
    default:
      return llvm::FixedVectorType::get(lane_type(context, type.dtype), lanes);
  }
}

llvm::Constant* constant_mask(llvm::LLVMContext& context, const std::vector<int64_t>& lanes) {
  std::vector<llvm::Constant*> bits;
  bits.reserve(lanes.size());
  for (int64_t lane : lanes) bits.push_back(llvm::ConstantInt::getBool(context, lane != 0));
  return llvm::ConstantVector::get(bits);
}

namespace {

llvm::Constant* constant_lanes(llvm::LLVMContext& context, const ir::Type& type,
                               const std::vector<int64_t>& data) {
  const auto bits = static_cast<unsigned>(ir::info(type.dtype).bits);
  const uint64_t low = ~uint64_t{0} >> (64 - bits);
  llvm::Type* const lane = lane_type(context, type.dtype);
  std::vector<llvm::Constant*> lanes;
  lanes.reserve(data.size());
  for (int64_t value : data) {
    const llvm::APInt word(bits, static_cast<uint64_t>(value) & low);
    if (is_llvm_float(type.dtype))
      lanes.push_back(llvm::ConstantFP::get(context, llvm::APFloat(lane->getFltSemantics(), word)));
    else
      lanes.push_back(llvm::ConstantInt::get(lane, word));
  }
  return llvm::ConstantVector::get(lanes);
}

// One row per predicate: how each class of lanes compares. `un` never holds for integers.
struct Comparison {
  ir::Predicate pred;
  llvm::CmpInst::Predicate floating, signed_int, unsigned_int;
};
constexpr Comparison comparisons[] = {
    {ir::Predicate::eq, llvm::CmpInst::FCMP_OEQ, llvm::CmpInst::ICMP_EQ, llvm::CmpInst::ICMP_EQ},
    {ir::Predicate::ne, llvm::CmpInst::FCMP_UNE, llvm::CmpInst::ICMP_NE, llvm::CmpInst::ICMP_NE},
    {ir::Predicate::lt, llvm::CmpInst::FCMP_OLT, llvm::CmpInst::ICMP_SLT, llvm::CmpInst::ICMP_ULT},
    {ir::Predicate::le, llvm::CmpInst::FCMP_OLE, llvm::CmpInst::ICMP_SLE, llvm::CmpInst::ICMP_ULE},
    {ir::Predicate::gt, llvm::CmpInst::FCMP_OGT, llvm::CmpInst::ICMP_SGT, llvm::CmpInst::ICMP_UGT},
    {ir::Predicate::ge, llvm::CmpInst::FCMP_OGE, llvm::CmpInst::ICMP_SGE, llvm::CmpInst::ICMP_UGE},
    {ir::Predicate::un, llvm::CmpInst::FCMP_UNO, llvm::CmpInst::BAD_ICMP_PREDICATE,
     llvm::CmpInst::BAD_ICMP_PREDICATE},
};

llvm::Value* compare(llvm::IRBuilder<>& build, ir::Predicate pred, const ir::Type& type, llvm::Value* a,
                     llvm::Value* b) {
  const Comparison& row = comparisons[static_cast<size_t>(pred)];
  if (ir::is_float(type.dtype)) return build.CreateFCmp(row.floating, a, b);
  const auto by_sign = ir::is_signed_int(type.dtype) ? row.signed_int : row.unsigned_int;
  if (by_sign == llvm::CmpInst::BAD_ICMP_PREDICATE)
    return llvm::Constant::getNullValue(value_type(build.getContext(), type.mask_of()));
  return build.CreateICmp(by_sign, a, b);
}

// x86's min and max: the second operand where equal or unordered, hence not llvm.minnum and not llvm.minimum.
llvm::Value* extremum(llvm::IRBuilder<>& build, Op op, const ir::Type& type, llvm::Value* a, llvm::Value* b) {
  const auto pred = op == Op::min ? ir::Predicate::lt : ir::Predicate::gt;
  return build.CreateSelect(compare(build, pred, type, a, b), a, b);
}

llvm::Value* arithmetic(llvm::IRBuilder<>& build, Op op, const ir::Type& type, llvm::Value* a,
                        llvm::Value* b) {
  const bool floating = ir::is_float(type.dtype);
  switch (op) {
    case Op::add:
      return floating ? build.CreateFAdd(a, b) : build.CreateAdd(a, b);
    case Op::sub:
      return floating ? build.CreateFSub(a, b) : build.CreateSub(a, b);
    case Op::mul:
      return floating ? build.CreateFMul(a, b) : build.CreateMul(a, b);
    default:
      return build.CreateFDiv(a, b);
  }
}

llvm::Value* bitwise(llvm::IRBuilder<>& build, Op op, llvm::Value* a, llvm::Value* b) {
  llvm::Type* const type = a->getType();
  const auto apply = [&](llvm::Value* left, llvm::Value* right) {
    return op == Op::and_ ? build.CreateAnd(left, right) : build.CreateOr(left, right);
  };
  if (!type->isFPOrFPVectorTy()) return apply(a, b);
  llvm::Type* const bits = llvm::VectorType::getInteger(llvm::cast<llvm::VectorType>(type));
  return build.CreateBitCast(apply(build.CreateBitCast(a, bits), build.CreateBitCast(b, bits)), type);
}

llvm::Value* shift(llvm::IRBuilder<>& build, const Inst& inst, const ir::Type& type, llvm::Value* a) {
  llvm::Value* const bits = llvm::ConstantInt::get(a->getType(), static_cast<uint64_t>(inst.imm));
  if (inst.op == Op::shl) return build.CreateShl(a, bits);
  return ir::is_signed_int(type.dtype) ? build.CreateAShr(a, bits) : build.CreateLShr(a, bits);
}

llvm::Value* shuffle(llvm::IRBuilder<>& build, const Inst& inst, const std::vector<llvm::Value*>& args) {
  const std::vector<int> lanes(inst.data.begin(), inst.data.end());
  if (args.size() == 1) return build.CreateShuffleVector(args[0], lanes);
  return build.CreateShuffleVector(args[0], args[1], lanes);
}

// One lane is a scalar to LLVM, and where floating scalars are chosen by anything but a comparison of their
// own it branches; a kernel's branches follow counters only. Words are chosen by a conditional move.
llvm::Value* select(llvm::IRBuilder<>& build, const std::vector<llvm::Value*>& args) {
  auto* const type = llvm::cast<llvm::FixedVectorType>(args[1]->getType());
  if (type->getNumElements() > 1 || !type->getElementType()->isFloatingPointTy())
    return build.CreateSelect(args[0], args[1], args[2]);
  auto* const words = llvm::VectorType::getInteger(type);
  llvm::Value* const chosen =
      build.CreateSelect(args[0], build.CreateBitCast(args[1], words), build.CreateBitCast(args[2], words));
  return build.CreateBitCast(chosen, type);
}

// The range of an integer dtype as bits of a 64-bit word; `low` is 0 or negative.
struct Range {
  int64_t low;
  uint64_t high;
};
constexpr Range range(DType dtype) {
  const int bits = ir::info(dtype).bits;
  if (!ir::is_signed_int(dtype)) return {0, ~uint64_t{0} >> (64 - bits)};
  return {std::numeric_limits<int64_t>::min() >> (64 - bits), ~uint64_t{0} >> (65 - bits)};
}

// Clamps to the destination's range while still in the source's lanes, so that the narrowing loses nothing.
llvm::Value* clamp(llvm::IRBuilder<>& build, llvm::Value* a, DType from, DType to) {
  const Range have = range(from), want = range(to);
  const bool is_signed = ir::is_signed_int(from);
  const auto constant = [&](uint64_t value) {
    const auto bits = static_cast<unsigned>(ir::info(from).bits);
    return llvm::ConstantInt::get(a->getType(), llvm::APInt(bits, value & (~uint64_t{0} >> (64 - bits))));
  };
  if (want.low > have.low)
    a = build.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, constant(static_cast<uint64_t>(want.low)));
  if (want.high < have.high)
    a = build.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a,
                                    constant(want.high));
  return a;
}

// To nearest, ties to even; a NaN becomes quiet.
llvm::Value* f32_to_bf16(llvm::IRBuilder<>& build, llvm::Type* to, llvm::Value* a) {
  llvm::Value* const bits =
      build.CreateBitCast(a, llvm::VectorType::getInteger(llvm::cast<llvm::VectorType>(a->getType())));
  const auto constant = [&](uint64_t value) { return llvm::ConstantInt::get(bits->getType(), value); };
  llvm::Value* const high = build.CreateLShr(bits, 16);
  llvm::Value* const rounder = build.CreateAdd(build.CreateAnd(high, constant(1)), constant(0x7fff));
  llvm::Value* const rounded = build.CreateLShr(build.CreateAdd(bits, rounder), 16);
  llvm::Value* const quiet = build.CreateOr(high, constant(0x40));
  return build.CreateTrunc(build.CreateSelect(build.CreateFCmpUNO(a, a), quiet, rounded), to);
}

// The first lanes, or more lanes of which the first count.
llvm::Value* resized(llvm::IRBuilder<>& build, llvm::Value* a, unsigned lanes) {
  const auto have = llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements();
  std::vector<int> list;
  for (unsigned lane = 0; lane < lanes; ++lane) list.push_back(lane < have ? static_cast<int>(lane) : -1);
  return have == lanes ? a : build.CreateShuffleVector(a, list);
}

// NaNs of a, else b. One lane as four, of which one counts: else LLVM compares and chooses in general
// registers.
llvm::Value* propagate(llvm::IRBuilder<>& build, const ir::Type& type, llvm::Value* a, llvm::Value* b) {
  const auto lanes = static_cast<unsigned>(type.lanes), wide = std::max(lanes, 4U);
  llvm::Value* const x = resized(build, a, wide);
  llvm::Value* const chosen = build.CreateSelect(build.CreateFCmpUNO(x, x), x, resized(build, b, wide));
  return resized(build, chosen, lanes);
}

// By the instruction: of a product of widened lanes LLVM would make others, by what the constant is.
llvm::Value* high_product(llvm::IRBuilder<>& build, const ir::Type& type, llvm::Value* a, llvm::Value* b) {
  using namespace llvm::Intrinsic;
  struct Ids {
    llvm::Intrinsic::ID of_8, of_16, of_32;
  };
  const Ids ids = ir::is_signed_int(type.dtype)
                      ? Ids{x86_sse2_pmulh_w, x86_avx2_pmulh_w, x86_avx512_pmulh_w_512}
                      : Ids{x86_sse2_pmulhu_w, x86_avx2_pmulhu_w, x86_avx512_pmulhu_w_512};
  const auto lanes = static_cast<unsigned>(type.lanes), wide = std::max(lanes, 8U);
  const auto id = wide == 8 ? ids.of_8 : wide == 16 ? ids.of_16 : ids.of_32;
  return resized(build, build.CreateIntrinsic(id, {}, {resized(build, a, wide), resized(build, b, wide)}),
                 lanes);
}

llvm::Value* low_halves_product(llvm::IRBuilder<>& build, llvm::Value* a, llvm::Value* b) {
  const auto low = [&](llvm::Value* x) {
    return build.CreateAnd(x, llvm::ConstantInt::get(x->getType(), 0xffffffff));
  };
  return build.CreateMul(low(a), low(b));
}

// By the instruction: an fptrunc of an fpext would be folded, and leave a signalling NaN what it is.
llvm::Value* f32_to_f16(llvm::IRBuilder<>& build, llvm::Value* a) {
  const auto lanes = llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements();
  llvm::Value* const nearest_even = build.getInt32(0);
  if (lanes == 16) {
    llvm::Value* const nothing = llvm::PoisonValue::get(llvm::FixedVectorType::get(build.getInt16Ty(), 16));
    return build.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_vcvtps2ph_512, {},
                                 {a, nearest_even, nothing, build.getInt16(0xffff)});
  }
  const auto id = lanes == 8 ? llvm::Intrinsic::x86_vcvtps2ph_256 : llvm::Intrinsic::x86_vcvtps2ph_128;
  llvm::Value* const source = resized(build, a, std::max(lanes, 4U));
  return resized(build, build.CreateIntrinsic(id, {}, {source, nearest_even}), lanes);
}

// An instruction that rounds to the nearest integer, ties to even, as the kernel's control word says; with a
// mask it takes what masked lanes are, the mask and the rounding (the control word's), too.
struct RoundingConversion {
  DType from, to;
  unsigned lanes;
  llvm::Intrinsic::ID id;
  bool has_mask;
};
constexpr RoundingConversion rounding_conversions[] = {
    {DType::f32, DType::i32, 4, llvm::Intrinsic::x86_sse2_cvtps2dq, false},
    {DType::f32, DType::i32, 8, llvm::Intrinsic::x86_avx_cvt_ps2dq_256, false},
    {DType::f32, DType::i32, 16, llvm::Intrinsic::x86_avx512_mask_cvtps2dq_512, true},
    {DType::f64, DType::i32, 4, llvm::Intrinsic::x86_avx_cvt_pd2dq_256, false},
    {DType::f64, DType::i32, 8, llvm::Intrinsic::x86_avx512_mask_cvtpd2dq_512, true},
};

// Null: there is none for so many lanes.
llvm::Value* round_by_instruction(llvm::IRBuilder<>& build, DType from, const ir::Type& to, llvm::Value* a) {
  const auto lanes = std::max(static_cast<unsigned>(to.lanes), 4U);
  for (const RoundingConversion& row : rounding_conversions) {
    if (row.from != from || row.to != to.dtype || row.lanes != lanes) continue;
    std::vector<llvm::Value*> args = {resized(build, a, lanes)};
    if (row.has_mask) {
      constexpr uint32_t by_control_word = 4;
      auto* const type = llvm::FixedVectorType::get(lane_type(build.getContext(), row.to), lanes);
      llvm::Type* const mask = build.getIntNTy(lanes);
      args.push_back(llvm::PoisonValue::get(type));
      args.push_back(llvm::Constant::getAllOnesValue(mask));
      args.push_back(build.getInt32(by_control_word));
    }
    return resized(build, build.CreateIntrinsic(row.id, {}, args), static_cast<unsigned>(to.lanes));
  }
  return nullptr;
}

// From or to f32.
llvm::Value* convert_half(llvm::IRBuilder<>& build, DType to, DType from, llvm::Type* to_type,
                          llvm::Value* a) {
  const auto lanes = llvm::cast<llvm::FixedVectorType>(to_type)->getNumElements();
  auto* const halves = llvm::FixedVectorType::get(build.getHalfTy(), lanes);
  if (from == DType::f16) return build.CreateFPExt(build.CreateBitCast(a, halves), to_type);
  if (to == DType::f16) return f32_to_f16(build, a);
  if (to == DType::bf16) return f32_to_bf16(build, to_type, a);
  auto* const words = llvm::FixedVectorType::get(build.getInt32Ty(), lanes);
  return build.CreateBitCast(build.CreateShl(build.CreateZExt(a, words), 16), to_type);
}

// Unsigned integers and floats do not meet: ir::verify's rule "cvt".
llvm::Value* convert(llvm::IRBuilder<>& build, const Inst& inst, const ir::Type& result, const ir::Type& from,
                     llvm::Value* a) {
  llvm::Type* const to = value_type(build.getContext(), result);
  if (ir::is_half(from.dtype) || ir::is_half(result.dtype))
    return convert_half(build, result.dtype, from.dtype, to, a);
  const bool from_float = ir::is_float(from.dtype), to_float = ir::is_float(result.dtype);
  if (from_float && to_float) return build.CreateFPCast(a, to);
  if (from_float) {
    if (llvm::Value* const rounded = round_by_instruction(build, from.dtype, result, a)) return rounded;
    return build.CreateFPToSI(build.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, a), to);
  }
  if (to_float) return build.CreateSIToFP(a, to);
  if (inst.saturate) a = clamp(build, a, from.dtype, result.dtype);
  return build.CreateIntCast(a, to, ir::is_signed_int(from.dtype));
}

llvm::Value* splat(llvm::IRBuilder<>& build, const ir::Type& result, llvm::Value* index) {
  llvm::Value* const lane = build.CreateTrunc(index, lane_type(build.getContext(), result.dtype));
  return build.CreateVectorSplat(static_cast<unsigned>(result.lanes), lane);
}

}  // namespace

llvm::Value* lane_op(llvm::IRBuilder<>& build, const Inst& inst, const ir::Type& result,
                     const std::vector<ir::Type>& from, const std::vector<llvm::Value*>& args) {
  llvm::LLVMContext& context = build.getContext();
  switch (inst.op) {
    case Op::vconst:
      return constant_lanes(context, result, inst.data);
    case Op::vmask:
      return constant_mask(context, inst.data);
    case Op::splat:
      return splat(build, result, args[0]);
    case Op::shuffle:
      return shuffle(build, inst, args);
    case Op::cmp:
      return compare(build, inst.pred, from[0], args[0], args[1]);
    case Op::select:
      return select(build, args);
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
      return arithmetic(build, inst.op, result, args[0], args[1]);
    case Op::mull:
      return low_halves_product(build, args[0], args[1]);
    case Op::mulh:
      return high_product(build, result, args[0], args[1]);
    case Op::min:
    case Op::max:
      return extremum(build, inst.op, result, args[0], args[1]);
    case Op::propagate:
      return propagate(build, result, args[0], args[1]);
    case Op::fma:
      return build.CreateIntrinsic(llvm::Intrinsic::fma, {args[0]->getType()}, {args[0], args[1], args[2]});
    case Op::sqrt:
      return build.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, args[0]);
    case Op::and_:
    case Op::or_:
      return bitwise(build, inst.op, args[0], args[1]);
    case Op::shl:
    case Op::shr:
      return shift(build, inst, result, args[0]);
    case Op::cvt:
      return convert(build, inst, result, from[0], args[0]);
    case Op::bitcast:
      return build.CreateBitCast(args[0], value_type(context, result));
    default:
      return nullptr;
  }
}

bool has_gap(const llvm::Value* mask) {
  const auto* const lanes = llvm::dyn_cast<llvm::Constant>(mask);
  if (!lanes) return false;
  bool has_begun = false, has_ended = false;
  for (unsigned i = 0; i < llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements(); ++i) {
    const bool is_on = !lanes->getAggregateElement(i)->isNullValue();
    if (is_on && has_ended) return true;
    has_begun |= is_on;
    has_ended = has_begun && !is_on;
  }
  return false;
}

llvm::Value* opaque(llvm::IRBuilder<>& build, llvm::Value* mask) {
  llvm::Type* const bits =
      build.getIntNTy(llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements());
  llvm::Type* const word = build.getInt64Ty();
  auto* const nothing = llvm::InlineAsm::get(llvm::FunctionType::get(word, {word}, false), "", "=r,0", false);
  llvm::Value* const number = build.CreateZExt(build.CreateBitCast(mask, bits), word);
  return build.CreateBitCast(build.CreateTrunc(build.CreateCall(nothing, {number}), bits), mask->getType());
}

}  // namespace pooljit::jit
