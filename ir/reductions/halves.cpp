#include "ir/reductions/halves.h"

#include "ir/check.h"

namespace pooljit::ir {

DType halves_dtype(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return DType::f32;
    case DType::u8:
      return DType::u16;
    case DType::i8:
      return DType::i16;
    case DType::u16:
      return DType::u32;
    case DType::i16:
      return DType::i32;
    default:
      POOLJIT_CHECK(false, info(dtype).text);
  }
}

Halves widened_halves(Builder& b, Value x) {
  const Type type = b.type(x);
  const DType wide = halves_dtype(type.dtype);
  const int bits = info(type.dtype).bits, lanes = type.lanes / 2;
  const auto with_low_bits = [&](Value value, bool high) {
    const int64_t low = (int64_t{1} << bits) - 1;
    return b.binary(Op::and_, value, b.vconst_splat(b.type(value), high ? low << bits : low));
  };
  if (type.dtype == DType::bf16) {
    const Type result = Type::vec(wide, lanes);
    const Value pairs = b.bitcast(Type::vec(DType::u32, lanes), x);
    const Value even = b.bitcast(result, b.shift(Op::shl, pairs, bits));
    return {even, b.bitcast(result, with_low_bits(pairs, true))};
  }
  const Value pairs = b.bitcast(Type::vec(wide, lanes), x);
  const Value even = is_signed_int(wide) ? b.shift(Op::shr, b.shift(Op::shl, pairs, bits), bits)
                                         : with_low_bits(pairs, false);
  return {even, b.shift(Op::shr, pairs, bits)};
}

Value interleaved(Builder& b, DType narrow, const Halves& halves) {
  const Value high = b.shift(Op::shl, halves.odd, info(narrow).bits);
  const Value both = b.binary(Op::or_, halves.even, high);
  return b.bitcast(Type::vec(narrow, 2 * b.type(both).lanes), both);
}

}  // namespace pooljit::ir
