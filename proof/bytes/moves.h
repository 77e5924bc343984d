// Instructions that only move bytes, or combine bits, by the rows of proof/bytes/instructions.def.
#pragma once

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "proof/bytes/byte_ops.h"
#include "proof/bytes/operands.h"
#include "proof/bytes/places.h"
#include "proof/bytes/table.h"

namespace pooljit::jit::x86 {

template <class Domain>
class Moves : public OperandBytes<Domain> {
 public:
  using Base = OperandBytes<Domain>;
  using Base::Base;
  using typename Base::Byte;

 protected:
  using Operand = ZydisDecodedOperand;
  using Base::address, Base::bytes_of, Base::domain_, Base::give, Base::immediate, Base::is_mask,
      Base::mask_of, Base::masks, Base::memory_, Base::number, Base::read, Base::read_lanes, Base::read_whole,
      Base::spread, Base::vector_bytes, Base::write, Base::write_mask_, Base::zeros;
  using typename Base::Bytes;

  void moving_step(const Instruction& i, const VectorRow& row) {
    const int width = ir::bytes(row.op.type);
    switch (row.form) {
      case InstructionForm::bits_and:
        return bits(i, row, BitOp::and_);
      case InstructionForm::bits_and_not:
        return bits(i, row, BitOp::and_not);
      case InstructionForm::bits_or:
        return bits(i, row, BitOp::or_);
      case InstructionForm::bits_xor:
        return bits(i, row, BitOp::xor_);
      case InstructionForm::ternary:
        return three_bits(i, width);
      case InstructionForm::mask_and:
        return mask_bits(i, row, BitOp::and_, mask_of(i.operands[2]));
      case InstructionForm::mask_or:
        return mask_bits(i, row, BitOp::or_, mask_of(i.operands[2]));
      case InstructionForm::mask_xor:
        return mask_bits(i, row, BitOp::xor_, mask_of(i.operands[2]));
      case InstructionForm::mask_not:
        return mask_bits(i, row, BitOp::xor_, ones(static_cast<int>(mask_lanes(row))));
      case InstructionForm::mask_join:
        return join_masks(i, row);
      case InstructionForm::mask_shift:
        return shift_mask(i, row);
      case InstructionForm::mask_move:
        return move_mask(i, row);
      case InstructionForm::spread:
        return spread_mask(i, width);
      case InstructionForm::expand:
        return expand(i, width);
      case InstructionForm::choose:
        return choose(i, row);
      case InstructionForm::masked:
        return masked(i, row);
      case InstructionForm::blend:
        return blend(i, row);
      case InstructionForm::guarded:
        return guarded(i, row);
      case InstructionForm::move:
        return give(i, read_lanes(i, 1, width), width);
      case InstructionForm::move4:
        return move_low(i, 4);
      case InstructionForm::move8:
        return move_low(i, 8);
      case InstructionForm::high8:
        return move_high(i);
      case InstructionForm::aligned:
        return move_aligned(i, width);
      default:
        return change_places(i, width);
    }
  }

  // Between registers the other lanes are another operand's.
  void move_low(const Instruction& i, int count) {
    if (write_mask_.number != 0) throw Refused{0, "a scalar that is masked"};
    Bytes bytes = read(i, i.operands[1]);
    if (i.info.operand_count_visible == 3) {
      const Bytes low = read(i, i.operands[2]);
      std::copy_n(low.begin(), count, bytes.begin());
      return write(i, i.operands[0], bytes);
    }
    std::fill(bytes.begin() + count, bytes.end(), domain_.constant(0));
    write(i, i.operands[0], bytes);
  }

  // Of 16 bytes the upper half, to memory or from there.
  void move_high(const Instruction& i) {
    constexpr int half = 8;
    Bytes bytes = read(i, i.operands[1]);
    const Bytes high = i.info.operand_count_visible == 3 ? read(i, i.operands[2]) : bytes;
    if (is_memory(i.operands[0]))
      std::copy_n(high.begin() + half, half, bytes.begin());
    else
      std::copy_n(high.begin(), half, bytes.begin() + half);
    write(i, i.operands[0], bytes);
  }

  void move_aligned(const Instruction& i, int width) {
    for (const Operand& operand : {i.operands[0], i.operands[1]})
      if (is_memory(operand) && address(i, operand) % static_cast<uint64_t>(bytes_of(operand)) != 0)
        throw Refused{0, "an address that need not be aligned as the instruction wants"};
    give(i, read_lanes(i, 1, width), width);
  }

  Bytes ones(int count) const {
    Bytes to = zeros();
    std::fill_n(to.begin(), count, domain_.constant(0xff));
    return to;
  }

  // The same register twice, whatever is in it.
  static bool is_with_itself(const Instruction& i) {
    return Base::is_same_register(i.operands[1], i.operands[2]);
  }

 private:
  // By the immediate, as a table of eight bits: as one or two operations on two operands each.
  void three_bits(const Instruction& i, int width) {
    const uint8_t table = immediate(i);
    const int count = bytes_of(i.operands[0]);
    if (table == 0 || table == 0xff) return give(i, table == 0 ? zeros() : ones(count), width);
    const std::optional<TwoBitOps> found = two_bit_ops(table);
    if (!found) throw Refused{0, "bits of three operands"};
    const Bytes all_ones = ones(count);
    const auto operand = [&](size_t number) -> const Bytes& {
      return number == TwoBitOps::ones ? all_ones : read_lanes(i, number, width);
    };
    Bytes inner = zeros(), to = zeros();
    domain_.bits(found->inner, operand(found->a).data(), operand(found->b).data(), inner.data(), count);
    domain_.bits(found->outer, found->is_inner_first ? inner.data() : operand(found->c).data(),
                 found->is_inner_first ? operand(found->c).data() : inner.data(), to.data(), count);
    give(i, to, width);
  }

  // The row's type has as many bits as the mask has lanes.
  static size_t mask_lanes(const VectorRow& row) { return 8 * static_cast<size_t>(ir::bytes(row.op.type)); }

  void mask_bits(const Instruction& i, const VectorRow& row, BitOp op, const Bytes& other) {
    Bytes to = zeros();
    domain_.bits(op, mask_of(i.operands[1]).data(), other.data(), to.data(),
                 static_cast<int>(mask_lanes(row)));
    mask_of(i.operands[0]) = to;
  }

  // The second operand's lanes, then those of the first.
  void join_masks(const Instruction& i, const VectorRow& row) {
    const Bytes a = mask_of(i.operands[1]), b = mask_of(i.operands[2]);
    const auto count = static_cast<std::ptrdiff_t>(mask_lanes(row));
    Bytes to = zeros();
    std::copy_n(a.begin(), count, std::copy_n(b.begin(), count, to.begin()));
    mask_of(i.operands[0]) = to;
  }

  void shift_mask(const Instruction& i, const VectorRow& row) {
    const Bytes from = mask_of(i.operands[1]);
    const int lanes = static_cast<int>(mask_lanes(row)), count = immediate(i);
    Bytes to = zeros();
    for (int lane = 0; lane < lanes; ++lane) {
      const int source = row.op.op == ir::Op::shr ? lane + count : lane - count;
      if (source >= 0 && source < lanes) to[static_cast<size_t>(lane)] = from[static_cast<size_t>(source)];
    }
    mask_of(i.operands[0]) = to;
  }

  void spread_mask(const Instruction& i, int width) {
    const int count = bytes_of(i.operands[0]);
    const Bytes mask = spread(mask_of(i.operands[1]), width), all = ones(count), none = zeros();
    Bytes to = zeros();
    domain_.choose(mask.data(), all.data(), none.data(), to.data(), count, width);
    write(i, i.operands[0], to);
  }

  // To the lanes that the write mask has, one after the other; from memory only so many.
  void expand(const Instruction& i, int width) {
    const Operand &to = i.operands[0], &from = i.operands[1];
    const size_t lanes = static_cast<size_t>(bytes_of(to)) / static_cast<size_t>(width);
    const Bytes& mask = masks[write_mask_.number];
    const auto has = [&](size_t lane) {
      return write_mask_.number == 0 || (number(&mask[lane], 1) & 0x80) != 0;
    };
    std::array<bool, vector_bytes> wanted{};
    size_t next = 0;
    for (size_t lane = 0; lane < lanes; ++lane)
      if (has(lane))
        std::fill_n(wanted.begin() + static_cast<std::ptrdiff_t>(next), width, true), next += width;
    const Bytes all = is_memory(from) ? this->load(i, from, &wanted) : read(i, from);
    Bytes result = write_mask_.number == 0 || write_mask_.zeroes ? zeros() : read(i, to);
    const Byte* at = all.data();
    for (size_t lane = 0; lane < lanes; ++lane)
      if (has(lane)) std::copy_n(at, width, result.data() + lane * static_cast<size_t>(width)), at += width;
    write(i, to, result);
  }

  void move_mask(const Instruction& i, const VectorRow& row) {
    const Operand &to = i.operands[0], &from = i.operands[1];
    const size_t count = mask_lanes(row);
    if (!is_mask(to)) {
      uint64_t bits = 0;
      for (size_t lane = 0; lane < count; ++lane) bits |= (number(&mask_of(from)[lane], 1) >> 7) << lane;
      return write(i, to, this->bytes_of_number(bits));
    }
    Bytes mask = zeros();
    if (is_mask(from)) {
      std::copy_n(mask_of(from).begin(), count, mask.begin());
    } else {
      const uint64_t bits = number(read(i, from).data(), static_cast<int>(count / 8));
      for (size_t lane = 0; lane < count; ++lane)
        mask[lane] = domain_.constant((bits >> lane & 1) != 0 ? 0xff : 0);
    }
    mask_of(to) = mask;
  }

  void bits(const Instruction& i, const VectorRow& row, BitOp op) {
    const int width = ir::bytes(row.op.type);
    if ((op == BitOp::xor_ || op == BitOp::and_not) && is_with_itself(i)) return give(i, zeros(), width);
    const Bytes &a = read_lanes(i, 1, width), &b = read_lanes(i, 2, width);
    Bytes to = zeros();
    domain_.bits(op, a.data(), b.data(), to.data(), bytes_of(i.operands[0]));
    give(i, to, width);
  }

  // The second operand where the write mask has the lane; without a mask all of it.
  void masked(const Instruction& i, const VectorRow& row) {
    const int width = ir::bytes(row.op.type);
    const Bytes &a = read_lanes(i, 1, width), &b = read_lanes(i, 2, width);
    if (write_mask_.number == 0) return write(i, i.operands[0], b);
    const Bytes mask = spread(masks[write_mask_.number], width), none = zeros();
    Bytes to = zeros();
    domain_.choose(mask.data(), b.data(), (write_mask_.zeroes ? none : a).data(), to.data(),
                   bytes_of(i.operands[0]), width);
    write(i, i.operands[0], to);
  }

  void choose(const Instruction& i, const VectorRow& row) {
    const Bytes &a = read_whole(i, 1), &b = read_whole(i, 2), &mask = read_whole(i, 3);
    Bytes to = zeros();
    domain_.choose(mask.data(), b.data(), a.data(), to.data(), bytes_of(i.operands[0]),
                   ir::bytes(row.op.type));
    write(i, i.operands[0], to);
  }

  void blend(const Instruction& i, const VectorRow& row) {
    Bytes to = read(i, i.operands[1]);
    const Bytes b = read(i, i.operands[2]);
    const int width = ir::bytes(row.op.type), bits = i.info.mnemonic == ZYDIS_MNEMONIC_VPBLENDW ? 8 : 32;
    for (int at = 0; at < bytes_of(i.operands[0]); ++at)
      if (immediate(i) >> (at / width % bits) & 1) to[static_cast<size_t>(at)] = b[static_cast<size_t>(at)];
    write(i, i.operands[0], to);
  }

  void guarded(const Instruction& i, const VectorRow& row) {
    const bool is_store = is_memory(i.operands[0]);
    const Operand& memory = i.operands[is_store ? 0 : 2];
    const uint64_t first = address(i, memory);
    const Bytes mask = read(i, i.operands[1]);
    Bytes lanes = is_store ? read(i, i.operands[2]) : zeros();
    const int width = ir::bytes(row.op.type);
    for (int at = 0; at < bytes_of(i.operands[1]); ++at) {
      const int top = at / width * width + width - 1;
      if ((number(&mask[static_cast<size_t>(top)], 1) & 0x80) == 0) continue;
      const uint64_t address = first + static_cast<uint64_t>(at);
      if (is_store)
        memory_.store(address, 1, &lanes[static_cast<size_t>(at)]);
      else
        memory_.load(address, 1, &lanes[static_cast<size_t>(at)]);
    }
    if (!is_store) write(i, i.operands[0], lanes);
  }

  void change_places(const Instruction& i, int width) {
    const int count = i.info.operand_count_visible;
    const bool has_immediate = i.operands[count - 1U].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    const int control = control_operand(i.info.mnemonic, has_immediate);
    std::array<const Bytes*, 3> sources = {};
    size_t source = 0;
    std::vector<uint8_t> indices;
    for (int o = reads_result(i.info.mnemonic) ? 0 : 1; o < count - (has_immediate ? 1 : 0); ++o) {
      const Bytes& bytes = read_whole(i, static_cast<size_t>(o));
      if (o != control) {
        sources.at(source++) = &bytes;
        continue;
      }
      indices.reserve(bytes.size());
      for (const Byte& byte : bytes) indices.push_back(static_cast<uint8_t>(number(&byte, 1)));
    }
    const std::vector<ByteSource>& from = places_of(i, has_immediate, std::move(indices));
    Bytes to = zeros();
    for (size_t b = 0; b < from.size(); ++b)
      if (const ByteSource& place = from[b]; place.source >= 0)
        to[b] = (*sources.at(static_cast<size_t>(place.source)))[static_cast<size_t>(place.byte)];
    give(i, to, width);
  }

  // Kept from the last time that the instruction was executed.
  const std::vector<ByteSource>& places_of(const Instruction& i, bool has_immediate,
                                           std::vector<uint8_t> indices) {
    auto& [known, found] = moved_[i.offset];
    if (found.empty() || known != indices) {
      uint8_t imm = has_immediate ? immediate(i) : uint8_t{0};
      // Of memory there is but one lane to take.
      if (i.info.mnemonic == ZYDIS_MNEMONIC_VINSERTPS && is_memory(i.operands[2])) imm &= 0x3f;
      auto from =
          places(i.info.mnemonic, bytes_of(i.operands[0]), i.info.avx.vector_length / 8, imm, indices);
      if (!from) throw Refused{0, "bytes that change places in a way that has no row"};
      known = std::move(indices), found = std::move(*from);
    }
    return found;
  }

  struct Moved {
    std::vector<uint8_t> indices;
    std::vector<ByteSource> from;
  };
  std::unordered_map<size_t, Moved> moved_;  // by the instruction's offset
};

}  // namespace pooljit::jit::x86
