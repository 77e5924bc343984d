// The operation of an instruction on a lane, in the words of ir/ops.def.
#pragma once

#include <array>
#include <cstdint>

#include "ir/dtype.h"
#include "ir/inst.h"

namespace pooljit::jit::x86 {

struct LaneOp {
  ir::Op op = ir::Op::add;
  ir::DType type = ir::DType::u8;  // of the result; of a comparison: of what it compares
  ir::DType from = ir::DType::u8;  // of the operands
  ir::Predicate pred = ir::Predicate::eq;
  bool saturate = false;
  int64_t imm = 0;  // by how much is shifted
};

// The integers of so many bytes.
constexpr ir::DType signed_of_width(int width) {
  return width == 1   ? ir::DType::i8
         : width == 2 ? ir::DType::i16
         : width == 4 ? ir::DType::i32
                      : ir::DType::i64;
}
inline ir::DType unsigned_of_width(int width) { return ir::unsigned_of(signed_of_width(width)); }

// How many operands it takes.
constexpr int operands(ir::Op op) {
  switch (op) {
    case ir::Op::cvt:
    case ir::Op::shl:
    case ir::Op::shr:
    case ir::Op::sqrt:
      return 1;
    case ir::Op::fma:
      return 3;
    default:
      return 2;
  }
}

// Which bytes of its only operand the result depends on: what is shifted out or left out is not among them.
struct TakenBytes {
  int first, count;
};
TakenBytes taken_bytes(const LaneOp& op);

// The lane's bits, from the operands' bits; a comparison gives all ones or 0. As the processor does it, also
// where ir/ops.def leaves it open: a number that a conversion to integers has no room for becomes the lowest.
// But which NaN arithmetic gives is not said.
uint64_t compute(const LaneOp& op, const std::array<uint64_t, 3>& args);

}  // namespace pooljit::jit::x86
