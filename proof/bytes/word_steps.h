// The general registers of a processor whose bytes are of a domain (proof/bytes/executor.h), and its flags.
// Most are numbers; what is made of data is computed by the domain, as one lane.
#pragma once

#include <algorithm>
#include <bit>
#include <optional>
#include <string_view>

#include "proof/bytes/vectors.h"

namespace pooljit::jit::x86 {

template <class Domain>
class WordSteps : public Vectors<Domain> {
 public:
  using Base = Vectors<Domain>;
  using Base::Base;
  using Base::word_of, Base::words;
  using typename Base::Byte;

 protected:
  using Operand = ZydisDecodedOperand;
  using Base::address, Base::bytes_of, Base::bytes_of_number, Base::domain_, Base::known_number,
      Base::memory_, Base::number, Base::ones, Base::read, Base::rsp, Base::write, Base::write_number,
      Base::zeros;
  using typename Base::Bytes;

  // Whether a branch is taken.
  bool told(ZydisMnemonic mnemonic) {
    const Condition found = condition_of(mnemonic);
    const std::optional<uint8_t> known = domain_.known(found.mask);
    if (!known) throw Refused{0, "a branch that depends on data"};
    return ((*known & 0x80) != 0) != found.is_negated;
  }

  void word_step(const Instruction& i) {
    const auto mnemonic = i.info.mnemonic;
    if (const auto type = compared_floats(mnemonic))
      return compare(read(i, i.operands[0]), read(i, i.operands[1]), *type, *type);
    if (i.info.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY && mnemonic != ZYDIS_MNEMONIC_ANDN)
      throw Refused{0, "an instruction that has no row"};
    const Operand &to = i.operands[0], &from = i.operands[1];
    switch (mnemonic) {
      case ZYDIS_MNEMONIC_MOV:
      case ZYDIS_MNEMONIC_MOVZX:  // above what is read there are zeros
        if (const auto value = known_number(i, from, bytes_of(to))) return write_number(i, to, *value);
        return write(i, to, read(i, from));
      case ZYDIS_MNEMONIC_MOVSX:
      case ZYDIS_MNEMONIC_MOVSXD:
        return write(i, to,
                     lane({.op = ir::Op::cvt,
                           .type = signed_of_width(bytes_of(to)),
                           .from = signed_of_width(bytes_of(from))},
                          read(i, from), zeros()));
      case ZYDIS_MNEMONIC_CWDE:
      case ZYDIS_MNEMONIC_CDQE:
        return extend_rax(mnemonic == ZYDIS_MNEMONIC_CWDE ? 2 : 4);
      case ZYDIS_MNEMONIC_LEA:
        if (is_number(from.mem.base) && is_number(from.mem.index))
          return write_number(i, to, address(i, from));
        return write(i, to, sum(from, bytes_of(to)));
      case ZYDIS_MNEMONIC_PUSH:
        return push(read(i, to));
      case ZYDIS_MNEMONIC_POP:
        return write(i, to, pop());
      default:
        break;
    }
    const std::string_view text = ZydisMnemonicGetString(mnemonic);
    if (text.starts_with("cmov")) return choose(i, read(i, from), read(i, to));
    if (text.starts_with("set")) return choose(i, bytes_of_number(1), zeros());
    compute(i);
  }

 private:
  Bytes lane(const LaneOp& op, const Bytes& a, const Bytes& b) {
    Bytes to = zeros();
    domain_.lane(op, {a.data(), b.data(), b.data()}, to.data());
    return to;
  }

  // The lowest so many bytes, to twice as many; above those there are zeros.
  void extend_rax(int width) {
    constexpr size_t rax = 0;
    Bytes from = zeros();
    std::ranges::copy(words[rax], from.begin());
    const LaneOp op{.op = ir::Op::cvt, .type = signed_of_width(2 * width), .from = signed_of_width(width)};
    const Bytes to = lane(op, from, from);
    std::copy_n(to.begin(), words[rax].size(), words[rax].begin());
  }

  bool is_number(ZydisRegister reg) const {
    if (reg == ZYDIS_REGISTER_NONE || reg == ZYDIS_REGISTER_RIP) return true;
    const auto& word = words[name_of(reg).number];
    return known_number(word.data(), static_cast<int>(word.size())).has_value();
  }

  // Of what an address is made of, which need not be one.
  Bytes sum(const Operand& operand, int width) {
    const LaneOp add{.op = ir::Op::add, .type = signed_of_width(width), .from = signed_of_width(width)};
    LaneOp scale{.op = ir::Op::shl, .type = unsigned_of_width(width), .from = unsigned_of_width(width)};
    scale.imm = std::countr_zero(static_cast<unsigned>(std::max<uint8_t>(operand.mem.scale, 1)));
    Bytes to = bytes_of_number(static_cast<uint64_t>(operand.mem.disp.value));
    const auto add_register = [&](ZydisRegister reg, bool is_scaled) {
      if (reg == ZYDIS_REGISTER_NONE) return;
      Bytes word = zeros();
      std::ranges::copy(words[name_of(reg).number], word.begin());
      to = lane(add, is_scaled && scale.imm > 0 ? lane(scale, word, zeros()) : word, to);
    };
    add_register(operand.mem.index, true);
    add_register(operand.mem.base, false);
    return to;
  }

  Bytes bits(BitOp op, const Bytes& a, const Bytes& b, int width) {
    Bytes to = zeros();
    domain_.bits(op, a.data(), b.data(), to.data(), width);
    return to;
  }

  // --- conditions

  // A mask, and whether the condition holds where it is not set.
  struct Condition {
    Byte mask;
    bool is_negated = false;
  };

  // What was compared last, if flags are of that: floats, or integers of which one is data.
  struct Compared {
    Bytes a, b;
    ir::DType signed_type, unsigned_type;  // of floats both the same
    bool is_with_zero = false;
  };

  static std::optional<ir::DType> compared_floats(ZydisMnemonic mnemonic) {
    switch (mnemonic) {
      case ZYDIS_MNEMONIC_VUCOMISS:
      case ZYDIS_MNEMONIC_VCOMISS:
        return ir::DType::f32;
      case ZYDIS_MNEMONIC_VUCOMISD:
      case ZYDIS_MNEMONIC_VCOMISD:
        return ir::DType::f64;
      default:
        return std::nullopt;
    }
  }

  void compare(const Bytes& a, const Bytes& b, ir::DType signed_type, ir::DType unsigned_type) {
    compared_ = Compared{a, b, signed_type, unsigned_type};
    flags_ = {};
  }
  // As the operations on bits do it: there is no carry and no overflow.
  void compare_with_zero(const Bytes& a, int width) {
    compare(a, zeros(), signed_of_width(width), unsigned_of_width(width));
    compared_->is_with_zero = true;
  }

  Condition condition_of(ZydisMnemonic mnemonic) {
    if (!compared_) {
      const std::optional<bool> holds = condition(mnemonic, flags_);
      if (!holds) throw Refused{0, "a condition that its flags do not tell"};
      return {domain_.constant(*holds ? 0xff : 0)};
    }
    const auto found = comparison(mnemonic, ir::is_float(compared_->signed_type), compared_->is_with_zero);
    if (!found) throw Refused{0, "a condition of data that has no row"};
    const ir::DType type = found->is_signed ? compared_->signed_type : compared_->unsigned_type;
    const Bytes told = lane({.op = ir::Op::cmp, .type = type, .from = type, .pred = found->pred},
                            compared_->a, compared_->b);
    return {told[0], found->is_negated};
  }

  // One of both, by the instruction's condition.
  void choose(const Instruction& i, const Bytes& if_so, const Bytes& if_not) {
    const Condition found = condition_of(i.info.mnemonic);
    const int width = bytes_of(i.operands[0]);
    Bytes mask = zeros(), to = zeros();
    std::fill_n(mask.begin(), width, found.mask);
    domain_.choose(mask.data(), (found.is_negated ? if_not : if_so).data(),
                   (found.is_negated ? if_so : if_not).data(), to.data(), width, width);
    write(i, i.operands[0], to);
  }

  // --- arithmetic

  void compute(const Instruction& i) {
    const int count = i.info.operand_count_visible, width = bytes_of(i.operands[0]);
    const Operand& to = i.operands[0];
    // xor r, r is 0 whatever was there.
    const bool is_zero = i.info.mnemonic == ZYDIS_MNEMONIC_XOR && Base::is_same_register(to, i.operands[1]);
    const size_t first = reads(to) ? 0 : 1, end = is_zero ? 0 : static_cast<size_t>(std::min(count, 3));
    std::array<uint64_t, 3> values = {};
    for (size_t o = first; o < end; ++o) {
      const auto value = known_number(i, i.operands[o], width);
      if (!value) return compute_data(i, first, end, width);
      values[o] = *value;
    }
    const auto result = compute_word(i.info.mnemonic, to.size, values[0], values[1],
                                     count > 2 ? std::optional(values[2]) : std::nullopt, flags_);
    if (!result) throw Refused{0, "an instruction that has no row"};
    if (result->sets_flags) flags_ = result->flags, compared_.reset();
    if (result->value) write_number(i, to, *result->value);
  }

  // Of which some operand, from the first that is read on, is data. Flags are told of comparisons only.
  void compute_data(const Instruction& i, size_t first, size_t end, int width) {
    const auto mnemonic = i.info.mnemonic;
    std::array<Bytes, 3> operands = {};
    for (size_t o = first; o < end; ++o) operands[o] = read(i, i.operands[o]);
    if (mnemonic == ZYDIS_MNEMONIC_CMP)
      return compare(operands[0], operands[1], signed_of_width(width), unsigned_of_width(width));
    if (mnemonic == ZYDIS_MNEMONIC_TEST) {
      const bool is_same = Base::is_same_register(i.operands[0], i.operands[1]);
      return compare_with_zero(is_same ? operands[0] : bits(BitOp::and_, operands[0], operands[1], width),
                               width);
    }
    if (mnemonic == ZYDIS_MNEMONIC_ANDN) {
      const Bytes to = bits(BitOp::and_not, operands[1], operands[2], width);
      compare_with_zero(to, width);
      return write(i, i.operands[0], to);
    }
    const DataWordOp* const row = data_word_op(mnemonic);
    if (!row) throw Refused{0, "a number that depends on data"};
    flags_ = {}, compared_.reset();
    const Bytes &a = operands[0], b = row->is_one ? bytes_of_number(1) : operands[1];
    if (row->bits) {
      const Bytes to = bits(*row->bits, a, row->is_not ? ones(width) : b, width);
      if (!row->is_not) compare_with_zero(to, width);
      return write(i, i.operands[0], to);
    }
    LaneOp op{.op = row->op};
    op.type = op.from = row->is_signed ? signed_of_width(width) : unsigned_of_width(width);
    if (op.op == ir::Op::shl || op.op == ir::Op::shr)
      op.imm = static_cast<int64_t>(number(b.data(), 1) & (width == 8 ? 63U : 31U));
    write(i, i.operands[0], row->is_negated ? lane(op, zeros(), a) : lane(op, a, b));
  }

  void push(const Bytes& bytes) {
    const uint64_t at = number(ZYDIS_REGISTER_RSP) - 8;
    memory_.store(at, 8, bytes.data());
    words[rsp] = word_of(at);
  }
  Bytes pop() {
    const uint64_t at = number(ZYDIS_REGISTER_RSP);
    Bytes bytes = zeros();
    memory_.load(at, 8, bytes.data());
    words[rsp] = word_of(at + 8);
    return bytes;
  }

  Flags flags_;
  std::optional<Compared> compared_;
};

}  // namespace pooljit::jit::x86
