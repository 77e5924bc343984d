// The vectors of a processor whose bytes are of a domain (proof/bytes/executor.h), and what instructions do
// to them by the rows of proof/bytes/instructions.def.
#pragma once

#include "proof/bytes/moves.h"

namespace pooljit::jit::x86 {

template <class Domain>
class Vectors : public Moves<Domain> {
 public:
  using Base = Moves<Domain>;
  using Base::Base;
  using typename Base::Byte;

 protected:
  using Operand = ZydisDecodedOperand;
  using Base::bytes_of, Base::domain_, Base::give, Base::immediate, Base::is_mask, Base::is_with_itself,
      Base::mask_of, Base::masks, Base::moving_step, Base::number, Base::ones, Base::read, Base::read_lanes,
      Base::read_whole, Base::vector_bytes, Base::write, Base::write_mask_, Base::zeros;
  using typename Base::Bytes;

  void vector_step(const Instruction& i, const VectorRow& row) {
    const bool is_evex = i.info.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
    if (is_evex && i.info.avx.rounding.mode != ZYDIS_ROUNDING_MODE_INVALID)
      throw Refused{0, "another rounding"};
    const ZydisMaskMode mode = i.info.avx.mask.mode;
    write_mask_ = {is_evex ? name_of(i.info.avx.mask.reg).number : 0,
                   mode == ZYDIS_MASK_MODE_ZEROING || mode == ZYDIS_MASK_MODE_CONTROL_ZEROING};
    lanes_step(i, row);
  }

 private:
  // What computes lanes; the rest is moved.
  void lanes_step(const Instruction& i, const VectorRow& row) {
    const Operand& to = i.operands[0];
    const int width = ir::bytes(row.op.type);
    const auto all = [&](size_t a, size_t b, size_t c) { give_lanes(i, row.op, {a, b, c}); };
    LaneOp op = row.op;
    switch (row.form) {
      case InstructionForm::narrow:
        op.saturate = true;
        [[fallthrough]];
      case InstructionForm::unary:
        return unary(i, op);
      case InstructionForm::binary:
        return all(1, 2, 2);
      case InstructionForm::muladd132:
        return all(0, 2, 1);
      case InstructionForm::muladd213:
        return all(1, 0, 2);
      case InstructionForm::muladd231:
        return all(1, 2, 0);
      case InstructionForm::compare:
        return compare_floats(i, op);
      case InstructionForm::signs:
        return give_told(i,
                         lanes(with(op, ir::Predicate::lt), read_lanes(i, 1, width), zeros(),
                               i.info.avx.vector_length / 8),
                         width);
      case InstructionForm::horizontal:
        return horizontal(i, op);
      case InstructionForm::from_word:
      case InstructionForm::to_word:
        return convert_word(i, op);
      case InstructionForm::order:
        return compare_integers(i, op);
      case InstructionForm::equal:
        return compare(i, op, ir::Predicate::eq);
      case InstructionForm::greater:
        return compare(i, op, ir::Predicate::gt);
      case InstructionForm::scalar:
        return scalar(i, op, 1);
      case InstructionForm::scalar_unary:
        return scalar(i, op, 2);
      case InstructionForm::compare_scalar:
        return compare_scalar(i, op);
      case InstructionForm::fix:
        return fix(i, row);
      case InstructionForm::shift:
        op.imm = immediate(i);
        return give(i, lanes(op, read_lanes(i, 1, width), bytes_of(to)), width);
      case InstructionForm::pack:
        return pack(i, row);
      default:
        return moving_step(i, row);
    }
  }

  // Of the operands of these numbers.
  void give_lanes(const Instruction& i, const LaneOp& op, const std::array<size_t, 3>& numbers) {
    const int width = ir::bytes(op.type);
    const auto [a, b, c] = numbers;
    give(i,
         lanes(op, read_lanes(i, a, width), read_lanes(i, b, width), read_lanes(i, c, width),
               bytes_of(i.operands[0])),
         width);
  }

  // count: of the bytes of the result; zeros above.
  Bytes lanes(const LaneOp& op, const Bytes& a, int count) { return lanes(op, a, a, a, count); }
  Bytes lanes(const LaneOp& op, const Bytes& a, const Bytes& b, int count) {
    return lanes(op, a, b, b, count);
  }
  Bytes lanes(const LaneOp& op, const Bytes& a, const Bytes& b, const Bytes& c, int count) {
    Bytes to = zeros();
    const auto width = static_cast<size_t>(ir::bytes(op.type));
    for (size_t at = 0; at < static_cast<size_t>(count); at += width)
      domain_.lane(op, {a.data() + at, b.data() + at, c.data() + at}, to.data() + at);
    return to;
  }

  // The lowest lane; the others are the first operand's. first: the operand that the operation takes first.
  void scalar(const Instruction& i, const LaneOp& op, size_t first) {
    if (write_mask_.number != 0) throw Refused{0, "a scalar that is masked"};
    Bytes to = read(i, i.operands[1]);
    const Bytes a = read(i, i.operands[first]), b = read(i, i.operands[2]);
    domain_.lane(op, {a.data(), b.data(), b.data()}, to.data());
    write(i, i.operands[0], to);
  }

  // Of a mask the other lanes are none.
  void compare_scalar(const Instruction& i, const LaneOp& op) {
    const auto preds = predicates_of(immediate(i));
    if (!preds || preds->second) throw Refused{0, "a comparison that has no row"};
    if (!is_mask(i.operands[0])) return scalar(i, with(op, preds->first), 1);
    if (write_mask_.number != 0) throw Refused{0, "a scalar that is masked"};
    const Bytes a = read(i, i.operands[1]), b = read(i, i.operands[2]);
    Bytes told = zeros();
    domain_.lane(with(op, preds->first), {a.data(), b.data(), b.data()}, told.data());
    std::fill(told.begin() + 1, told.end(), Byte{});
    mask_of(i.operands[0]) = told;
  }

  void unary(const Instruction& i, const LaneOp& op) {
    const Operand &to = i.operands[0], &from = i.operands[1];
    if (i.info.mnemonic == ZYDIS_MNEMONIC_VCVTPS2PH && (immediate(i) & 7) != 0 && (immediate(i) & 4) == 0)
      throw Refused{0, "another rounding"};
    const int width = ir::bytes(op.type), width_of_from = ir::bytes(op.from);
    const bool repeats = is_memory(from) && i.info.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID;
    const int count = std::min(bytes_of(to) / width,
                               (repeats ? i.info.avx.vector_length / 8 : bytes_of(from)) / width_of_from);
    const Bytes& all = read_lanes(i, 1, width_of_from);
    Bytes result = zeros();
    for (int lane = 0; lane < count; ++lane) {
      const Byte* const at = all.data() + lane * width_of_from;
      domain_.lane(op, {at, at, at}, result.data() + lane * width);
    }
    give(i, result, width, count * width);
  }

  // Between the lowest lane and a general register or memory, of whose two widths the operand says which.
  void convert_word(const Instruction& i, LaneOp op) {
    const bool is_to = is_word(i.operands[0]);
    const size_t from = is_to ? 1 : 2;
    const Operand& word = i.operands[is_to ? 0 : 2];
    (is_to ? op.type : op.from) = bytes_of(word) == 8 ? ir::DType::i64 : ir::DType::i32;
    const Bytes a = read(i, i.operands[from]);
    Bytes to = is_to ? zeros() : read(i, i.operands[1]);
    domain_.lane(op, {a.data(), a.data(), a.data()}, to.data());
    write(i, i.operands[0], to);
  }
  static bool is_word(const Operand& operand) {
    return Base::is_register(operand) && name_of(operand.reg.value).kind == RegisterKind::word;
  }

  // In each 16 bytes the neighbours of a, then those of b.
  void horizontal(const Instruction& i, const LaneOp& op) {
    join_pairs(i, op, read(i, i.operands[1]), read(i, i.operands[2]), ir::bytes(op.type));
  }

  // Lanes of op of what lies two lanes apart; second: bytes from the first operand to the second.
  void join_pairs(const Instruction& i, const LaneOp& op, const Bytes& a, const Bytes& b, int second) {
    const int width = ir::bytes(op.type), each = 16 / width;
    Bytes to = zeros();
    for (int lane = 0; lane < bytes_of(i.operands[0]) / width; ++lane) {
      const int in_half = lane % each, half = lane / each * 16;
      const Byte* const from = (in_half < each / 2 ? a : b).data() + half + in_half % (each / 2) * 2 * width;
      domain_.lane(op, {from, from + second, from}, to.data() + lane * width);
    }
    give(i, to, width);
  }

  static LaneOp with(LaneOp op, ir::Predicate pred) {
    op.pred = pred;
    return op;
  }

  // Some predicates are two of ir/ops.def's, of which one holds.
  void compare_floats(const Instruction& i, const LaneOp& op) {
    const auto preds = predicates_of(immediate(i));
    if (!preds) throw Refused{0, "a comparison that has no row"};
    if (!preds->second) return compare(i, op, preds->first);
    const Bytes a = compared(i, op, preds->first), b = compared(i, op, *preds->second);
    Bytes told = zeros();
    domain_.bits(BitOp::or_, a.data(), b.data(), told.data(), vector_bytes);
    give_told(i, told, ir::bytes(op.type));
  }

  void compare_integers(const Instruction& i, const LaneOp& op) {
    const auto pred = order_of(immediate(i));
    if (!pred) throw Refused{0, "a comparison that has no row"};
    compare(i, op, *pred);
  }

  void compare(const Instruction& i, const LaneOp& op, ir::Predicate pred) {
    give_told(i, compared(i, op, pred), ir::bytes(op.type));
  }

  Bytes compared(const Instruction& i, const LaneOp& op, ir::Predicate pred) {
    const Operand& to = i.operands[0];
    const int width = ir::bytes(op.type);
    const int count = is_mask(to) ? i.info.avx.vector_length / 8 : bytes_of(to);
    const bool are_equal = pred == ir::Predicate::eq && !ir::is_float(op.from) && is_with_itself(i);
    return are_equal ? ones(count)
                     : lanes(with(op, pred), read_lanes(i, 1, width), read_lanes(i, 2, width), count);
  }

  // To a vector, whose lanes become all ones or zeros, or to a mask, of which the write mask leaves out
  // lanes.
  void give_told(const Instruction& i, const Bytes& told, int width) {
    const Operand& to = i.operands[0];
    if (!is_mask(to)) return write(i, to, told);
    const int count = i.info.avx.vector_length / 8;
    Bytes mask = zeros();
    for (int lane = 0; lane < count / width; ++lane)
      mask[static_cast<size_t>(lane)] = told[static_cast<size_t>(lane) * static_cast<size_t>(width)];
    if (write_mask_.number != 0) {
      const Bytes other = mask;
      domain_.bits(BitOp::and_, other.data(), masks[write_mask_.number].data(), mask.data(), vector_bytes);
    }
    mask_of(to) = mask;
  }

  // Only where NaNs are replaced by the second operand, and all else stays.
  void fix(const Instruction& i, const VectorRow& row) {
    constexpr uint64_t quiet_and_signalling = 0x11;
    const int width = ir::bytes(row.op.type), count = bytes_of(i.operands[0]);
    const Bytes& table = read_whole(i, 2);
    for (int at = 0; at < count; at += width)
      if (number(&table[static_cast<size_t>(at)], 4) != quiet_and_signalling)
        throw Refused{0, "a table of responses that has no row"};
    give(i, lanes(row.op, read_whole(i, 1), read_whole(i, 0), count), width);
  }

  void pack(const Instruction& i, const VectorRow& row) {
    LaneOp op = row.op;
    op.saturate = true;
    join_pairs(i, op, read_whole(i, 1), read_whole(i, 2), 0);
  }
};

}  // namespace pooljit::jit::x86
