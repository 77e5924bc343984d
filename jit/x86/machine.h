// Executes a kernel's machine code over a domain of bytes: numbers, or how they were made of input elements.
//
// Addresses, counts and flags are numbers, whatever the domain: where one depends on data, or an instruction
// has no row, it is refused. A domain has:
//   - Byte: of a register or of memory;
//   - constant(number): a Byte; known(Byte): its number, if it is one whatever the input is;
//   - lane(op, args, to): one lane; what compares is as wide as what is compared;
//   - bits(op, a, b, to, count): bytes;
//   - choose(mask, a, b, to, count, width): lanes of so many bytes, a where the mask's top bit is set, or b.
#pragma once

#include <string_view>

#include "jit/x86/operands.h"
#include "jit/x86/places.h"
#include "jit/x86/table.h"

namespace pooljit::jit::x86 {

enum class BitOp : uint8_t { and_, and_not, or_, xor_ };  // and_not: of the first

constexpr uint64_t combine(BitOp op, uint64_t a, uint64_t b) {
  return op == BitOp::and_ ? a & b : op == BitOp::and_not ? ~a & b : op == BitOp::or_ ? a | b : a ^ b;
}

template <class Domain>
class Machine : public Operands<Domain> {
 public:
  using Base = Operands<Domain>;
  using Base::word_of, Base::words;
  using typename Base::Byte;

  // code: as its instructions lie in `memory`, from `base` on.
  Machine(const MachineCode& code, uint64_t base, Memory<Byte>& memory, Domain& domain)
      : Base(base, memory, domain), code_(code), instructions_(code.instructions()) {
    for (auto& [at, i] : instructions_) take_write_mask(i);
  }

  // From the entry to the return. Throws Refused.
  void run(int64_t most_steps) {
    auto i = instructions_.find(code_.entry());
    try {
      for (int64_t steps = 0; i->second.info.meta.category != ZYDIS_CATEGORY_RET; ++steps) {
        if (steps == most_steps) throw Refused{0, "too many instructions"};
        const size_t next = step(i->second);
        // Instructions do not overlap, so the one behind is the next of the map.
        i = next == i->second.end() ? std::next(i) : instructions_.find(next);
      }
    } catch (const Refused& refused) {
      throw Refused{i->first, refused.why};
    }
  }

  // Gives the offset of the next instruction.
  size_t step(const Instruction& i) {
    const auto mnemonic = i.info.mnemonic;
    const auto category = i.info.meta.category;
    const VectorRow* const row = find_row(mnemonic);
    const bool is_evex = i.info.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
    if (row && (is_evex || i.info.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX)) {
      if (is_evex && i.info.avx.rounding.mode != ZYDIS_ROUNDING_MODE_INVALID)
        throw Refused{0, "another rounding"};
      write_mask_ = {is_evex ? name_of(i.info.avx.mask.reg).number : 0,
                     i.info.avx.mask.mode == ZYDIS_MASK_MODE_ZEROING};
      vector_step(i, *row);
      return i.end();
    }
    switch (category) {
      case ZYDIS_CATEGORY_UNCOND_BR:
        return code_.successors(i).front();
      case ZYDIS_CATEGORY_COND_BR:
        return code_.successors(i)[told(mnemonic) ? 1 : 0];
      case ZYDIS_CATEGORY_NOP:
      case ZYDIS_CATEGORY_WIDENOP:
      case ZYDIS_CATEGORY_CET:
      case ZYDIS_CATEGORY_PREFETCH:
        return i.end();
      default:
        break;
    }
    if (mnemonic == ZYDIS_MNEMONIC_VZEROUPPER) {
      for (size_t v = 0; v < 16; ++v)
        std::fill(this->vectors[v].begin() + 16, this->vectors[v].end(), domain_.constant(0));
    } else if (mnemonic != ZYDIS_MNEMONIC_SFENCE) {
      word_step(i);
    }
    return i.end();
  }

 private:
  using Operand = ZydisDecodedOperand;
  using Base::address, Base::bytes_of, Base::bytes_of_number, Base::domain_, Base::is_register, Base::memory_,
      Base::number;
  using Base::is_mask, Base::load, Base::mask_of, Base::masks, Base::read, Base::rsp, Base::vector_bytes,
      Base::write, Base::zeros;
  using typename Base::Bytes;

  bool told(ZydisMnemonic mnemonic) const {
    const std::optional<bool> holds = condition(mnemonic, flags_);
    if (!holds) throw Refused{0, "a condition that its flags do not tell"};
    return *holds;
  }

  // --- general registers

  void word_step(const Instruction& i) {
    if (i.info.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
      throw Refused{0, "an instruction that has no row"};
    const auto mnemonic = i.info.mnemonic;
    const Operand &to = i.operands[0], &from = i.operands[1];
    switch (mnemonic) {
      case ZYDIS_MNEMONIC_MOV:
      case ZYDIS_MNEMONIC_MOVZX:  // above what is read there are zeros
        return write(i, to, read(i, from));
      case ZYDIS_MNEMONIC_MOVSX:
      case ZYDIS_MNEMONIC_MOVSXD: {
        const int bits = from.size;
        const uint64_t value = number(read(i, from).data(), bits / 8);
        return write(i, to,
                     bytes_of_number(
                         static_cast<uint64_t>(static_cast<int64_t>(value << (64 - bits)) >> (64 - bits))));
      }
      case ZYDIS_MNEMONIC_LEA:
        return write(i, to, bytes_of_number(address(i, from)));
      case ZYDIS_MNEMONIC_PUSH:
        return push(read(i, to));
      case ZYDIS_MNEMONIC_POP:
        return write(i, to, pop());
      default:
        break;
    }
    if (std::string_view(ZydisMnemonicGetString(mnemonic)).starts_with("cmov")) {
      const bool holds = told(mnemonic);
      return write(i, to, read(i, holds ? from : to));
    }
    compute(i);
  }

  void compute(const Instruction& i) {
    const int count = i.info.operand_count_visible;
    const Operand& to = i.operands[0];
    const auto value = [&](int operand) {
      return number(read(i, i.operands[static_cast<size_t>(operand)]).data(), bytes_of(to));
    };
    // xor r, r is 0 whatever was there.
    const bool is_zero = i.info.mnemonic == ZYDIS_MNEMONIC_XOR && is_register(to) &&
                         is_register(i.operands[1]) && to.reg.value == i.operands[1].reg.value;
    const bool reads_to = reads(to) && !is_zero;
    const auto result =
        compute_word(i.info.mnemonic, to.size, reads_to ? value(0) : 0, count > 1 && !is_zero ? value(1) : 0,
                     count > 2 ? std::optional(value(2)) : std::nullopt, flags_);
    if (!result) throw Refused{0, "an instruction that has no row"};
    if (result->sets_flags) flags_ = result->flags;
    if (result->value) write(i, to, bytes_of_number(*result->value));
  }

  void push(const Bytes& bytes) {
    const uint64_t at = number(ZYDIS_REGISTER_RSP) - 8;
    for (uint64_t b = 0; b < 8; ++b) memory_.store(at + b, bytes[b]);
    words[rsp] = word_of(at);
  }
  Bytes pop() {
    const uint64_t at = number(ZYDIS_REGISTER_RSP);
    Bytes bytes = zeros();
    for (uint64_t b = 0; b < 8; ++b) bytes[b] = memory_.load(at + b);
    words[rsp] = word_of(at + 8);
    return bytes;
  }

  // --- vectors

  static uint8_t immediate(const Instruction& i) {
    const Operand& last = i.operands[i.info.operand_count_visible - 1U];
    if (last.type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
      throw Refused{0, "a count or a choice that is no immediate"};
    return static_cast<uint8_t>(last.imm.value.u);
  }

  // Lanes that are not written, where k1 to k7 are given with an instruction.
  struct WriteMask {
    size_t number = 0;
    bool zeroes = false;
  };

  // What takes lanes by it is said in info.avx.mask; as an operand it would be in the way of the others.
  static void take_write_mask(Instruction& i) {
    if (i.info.encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX) return;
    const auto begin = i.operands.begin(), end = begin + i.info.operand_count;
    const auto mask = std::find_if(
        begin, end, [](const Operand& one) { return one.encoding == ZYDIS_OPERAND_ENCODING_MASK; });
    if (mask == end) return;
    std::rotate(mask, mask + 1, end);
    --i.info.operand_count;
    --i.info.operand_count_visible;
  }

  // As many bytes as lanes of `width` bytes have in all.
  Bytes spread(const Bytes& mask, int width) const {
    Bytes bytes;
    for (int at = 0; at < vector_bytes; ++at)
      bytes[static_cast<size_t>(at)] = mask[static_cast<size_t>(at / width)];
    return bytes;
  }
  std::array<bool, vector_bytes> numbers(const Bytes& mask) const {
    std::array<bool, vector_bytes> set;
    for (size_t at = 0; at < set.size(); ++at) set[at] = (number(&mask[at], 1) & 0x80) != 0;
    return set;
  }

  // An operand of which lanes that the write mask leaves out may lie where nothing is.
  Bytes read_lanes(const Instruction& i, const Operand& operand, int width) {
    if (write_mask_.number == 0 || !is_memory(operand)) return read(i, operand);
    const auto wanted = numbers(spread(masks[write_mask_.number], width));
    return load(i, operand, &wanted);
  }

  // A result of lanes of `width` bytes, of which the write mask says which are written.
  void give(const Instruction& i, const Bytes& bytes, int width) {
    give(i, bytes, width, bytes_of(i.operands[0]));
  }
  // count: of the bytes that are the result; behind them there are zeros.
  void give(const Instruction& i, const Bytes& bytes, int width, int count) {
    const Operand& to = i.operands[0];
    if (write_mask_.number == 0) return write(i, to, bytes);
    const Bytes mask = spread(masks[write_mask_.number], width);
    if (is_memory(to)) {
      const auto wanted = numbers(mask);
      const uint64_t at = address(i, to);
      for (int b = 0; b < count; ++b)
        if (wanted[static_cast<size_t>(b)])
          memory_.store(at + static_cast<uint64_t>(b), bytes[static_cast<size_t>(b)]);
      return;
    }
    const Bytes old = write_mask_.zeroes ? zeros() : read(i, to);
    Bytes chosen = zeros();
    domain_.choose(mask.data(), bytes.data(), old.data(), chosen.data(), count, width);
    write(i, to, chosen);
  }

  void vector_step(const Instruction& i, const VectorRow& row) {
    const Operand& to = i.operands[0];
    const int width = ir::bytes(row.op.type);
    const auto operand = [&](size_t number) { return read_lanes(i, i.operands[number], width); };
    const auto all = [&](const Bytes& a, const Bytes& b, const Bytes& c) {
      give(i, lanes(row.op, a, b, c, bytes_of(to)), width);
    };
    LaneOp op = row.op;
    switch (row.form) {
      case Form::unary:
        return unary(i, op);
      case Form::narrow:
        op.saturate = true;
        return unary(i, op);
      case Form::binary:
        return all(operand(1), operand(2), zeros());
      case Form::muladd132:
        return all(operand(0), operand(2), operand(1));
      case Form::muladd213:
        return all(operand(1), operand(0), operand(2));
      case Form::muladd231:
        return all(operand(1), operand(2), operand(0));
      case Form::compare:
        if (const auto pred = predicate_of(immediate(i))) return compare(i, op, *pred);
        throw Refused{0, "a comparison that has no row"};
      case Form::order:
        if (const auto pred = order_of(immediate(i))) return compare(i, op, *pred);
        throw Refused{0, "a comparison that has no row"};
      case Form::equal:
        return compare(i, op, ir::Predicate::eq);
      case Form::greater:
        return compare(i, op, ir::Predicate::gt);
      case Form::bits_and:
        return bits(i, row, BitOp::and_);
      case Form::bits_and_not:
        return bits(i, row, BitOp::and_not);
      case Form::bits_or:
        return bits(i, row, BitOp::or_);
      case Form::bits_xor:
        return bits(i, row, BitOp::xor_);
      case Form::all_ones:
        return all_ones(i);
      case Form::mask_and:
        return mask_bits(i, row, BitOp::and_);
      case Form::mask_or:
        return mask_bits(i, row, BitOp::or_);
      case Form::mask_xor:
        return mask_bits(i, row, BitOp::xor_);
      case Form::mask_move:
        return move_mask(i, row);
      case Form::shift:
        op.imm = immediate(i);
        return give(i, lanes(op, operand(1), zeros(), zeros(), bytes_of(to)), width);
      case Form::pack:
        return pack(i, row);
      case Form::choose:
        return choose(i, row);
      case Form::masked:
        return masked(i, row);
      case Form::fix:
        return fix(i, row);
      case Form::blend:
        return blend(i, row);
      case Form::guarded:
        return guarded(i, row);
      case Form::move:
        return give(i, operand(1), width);
      case Form::move4:
        return move_low(i, 4);
      case Form::move8:
        return move_low(i, 8);
      case Form::aligned:
        return move_aligned(i, width);
      case Form::places:
        return change_places(i, width);
    }
  }

  void move_low(const Instruction& i, int count) {
    Bytes bytes = read(i, i.operands[1]);
    std::fill(bytes.begin() + count, bytes.end(), domain_.constant(0));
    write(i, i.operands[0], bytes);
  }

  void move_aligned(const Instruction& i, int width) {
    for (const Operand& operand : {i.operands[0], i.operands[1]})
      if (is_memory(operand) && address(i, operand) % static_cast<uint64_t>(bytes_of(operand)) != 0)
        throw Refused{0, "an address that need not be aligned as the instruction wants"};
    give(i, read_lanes(i, i.operands[1], width), width);
  }

  // count: of the bytes of the result; zeros above.
  Bytes lanes(const LaneOp& op, const Bytes& a, const Bytes& b, const Bytes& c, int count) {
    Bytes to = zeros();
    const auto width = static_cast<size_t>(ir::bytes(op.type));
    for (size_t at = 0; at < static_cast<size_t>(count); at += width)
      domain_.lane(op, {a.data() + at, b.data() + at, c.data() + at}, to.data() + at);
    return to;
  }

  void unary(const Instruction& i, const LaneOp& op) {
    const Operand &to = i.operands[0], &from = i.operands[1];
    if (i.info.mnemonic == ZYDIS_MNEMONIC_VCVTPS2PH && (immediate(i) & 7) != 0 && (immediate(i) & 4) == 0)
      throw Refused{0, "another rounding"};
    const int width = ir::bytes(op.type), width_of_from = ir::bytes(op.from);
    const bool repeats = is_memory(from) && i.info.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID;
    const int count = std::min(bytes_of(to) / width,
                               (repeats ? i.info.avx.vector_length / 8 : bytes_of(from)) / width_of_from);
    const Bytes all = read_lanes(i, from, width_of_from);
    Bytes result = zeros();
    for (int lane = 0; lane < count; ++lane) {
      const Byte* const at = all.data() + lane * width_of_from;
      domain_.lane(op, {at, at, at}, result.data() + lane * width);
    }
    give(i, result, width, count * width);
  }

  // To a vector, whose lanes become all ones or zeros, or to a mask, of which the write mask leaves out lanes.
  void compare(const Instruction& i, LaneOp op, ir::Predicate pred) {
    const Operand& to = i.operands[0];
    op.pred = pred;
    const int width = ir::bytes(op.type);
    const int count = is_mask(to) ? i.info.avx.vector_length / 8 : bytes_of(to);
    const Bytes told = lanes(op, read_lanes(i, i.operands[1], width), read_lanes(i, i.operands[2], width),
                             zeros(), count);
    if (!is_mask(to)) return write(i, to, told);
    Bytes mask = zeros();
    for (int lane = 0; lane < count / width; ++lane)
      mask[static_cast<size_t>(lane)] = told[static_cast<size_t>(lane * width)];
    if (write_mask_.number != 0) {
      const Bytes other = mask;
      domain_.bits(BitOp::and_, other.data(), masks[write_mask_.number].data(), mask.data(), vector_bytes);
    }
    mask_of(to) = mask;
  }

  // By k1 to k7, or else by a whole vector; what is not chosen of the second is of the first.
  void masked(const Instruction& i, const VectorRow& row) {
    const int width = ir::bytes(row.op.type);
    const Bytes a = read(i, i.operands[1]), b = read_lanes(i, i.operands[2], width);
    if (write_mask_.number == 0) return write(i, i.operands[0], b);
    const Bytes mask = spread(masks[write_mask_.number], width), none = zeros();
    const bool zeroes = i.info.avx.mask.mode == ZYDIS_MASK_MODE_CONTROL_ZEROING || write_mask_.zeroes;
    Bytes to = zeros();
    domain_.choose(mask.data(), b.data(), zeroes ? none.data() : a.data(), to.data(), bytes_of(i.operands[0]),
                   width);
    write(i, i.operands[0], to);
  }

  // Only where NaNs are replaced by the second operand, and all else stays.
  void fix(const Instruction& i, const VectorRow& row) {
    constexpr uint64_t quiet_and_signalling = 0x11;
    const int width = ir::bytes(row.op.type), count = bytes_of(i.operands[0]);
    const Bytes table = read(i, i.operands[2]);
    for (int at = 0; at < count; at += width)
      if (number(&table[static_cast<size_t>(at)], 4) != quiet_and_signalling)
        throw Refused{0, "a table of responses that has no row"};
    give(i, lanes(row.op, read(i, i.operands[1]), read(i, i.operands[0]), zeros(), count), width);
  }

  void all_ones(const Instruction& i) {
    if (immediate(i) != 0xff) throw Refused{0, "bits of three operands"};
    Bytes ones = zeros();
    std::fill_n(ones.begin(), bytes_of(i.operands[0]), domain_.constant(0xff));
    give(i, ones, 4);
  }

  // The row's type has as many bits as the mask has lanes.
  static size_t mask_lanes(const VectorRow& row) { return 8 * static_cast<size_t>(ir::bytes(row.op.type)); }

  void mask_bits(const Instruction& i, const VectorRow& row, BitOp op) {
    const Bytes a = mask_of(i.operands[1]), b = mask_of(i.operands[2]);
    Bytes to = zeros();
    domain_.bits(op, a.data(), b.data(), to.data(), static_cast<int>(mask_lanes(row)));
    mask_of(i.operands[0]) = to;
  }

  void move_mask(const Instruction& i, const VectorRow& row) {
    const Operand &to = i.operands[0], &from = i.operands[1];
    const size_t count = mask_lanes(row);
    if (!is_mask(to)) {
      uint64_t bits = 0;
      for (size_t lane = 0; lane < count; ++lane)
        bits |= (number(&mask_of(from)[lane], 1) >> 7) << lane;
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
    const Bytes a = read_lanes(i, i.operands[1], width), b = read_lanes(i, i.operands[2], width);
    Bytes to = zeros();
    domain_.bits(op, a.data(), b.data(), to.data(), bytes_of(i.operands[0]));
    give(i, to, width);
  }

  void pack(const Instruction& i, const VectorRow& row) {
    const Bytes a = read(i, i.operands[1]), b = read(i, i.operands[2]);
    Bytes to = zeros();
    LaneOp op = row.op;
    op.saturate = true;
    const int width = ir::bytes(op.type), each = 16 / width;
    for (int lane = 0; lane < bytes_of(i.operands[0]) / width; ++lane) {
      const int in_half = lane % each, half = lane / each * 16;
      const Byte* const from = (in_half < each / 2 ? a : b).data() + half + in_half % (each / 2) * 2 * width;
      domain_.lane(op, {from, from, from}, to.data() + lane * width);
    }
    give(i, to, width);
  }

  void choose(const Instruction& i, const VectorRow& row) {
    const Bytes a = read(i, i.operands[1]), b = read(i, i.operands[2]), mask = read(i, i.operands[3]);
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
        memory_.store(address, lanes[static_cast<size_t>(at)]);
      else
        lanes[static_cast<size_t>(at)] = memory_.load(address);
    }
    if (!is_store) write(i, i.operands[0], lanes);
  }

  void change_places(const Instruction& i, int width) {
    const int count = i.info.operand_count_visible;
    const bool has_immediate = i.operands[count - 1U].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    const int control = control_operand(i.info.mnemonic, has_immediate);
    std::vector<Bytes> sources;
    std::vector<uint8_t> indices;
    for (int o = reads_result(i.info.mnemonic) ? 0 : 1; o < count - (has_immediate ? 1 : 0); ++o) {
      const Bytes bytes = read(i, i.operands[static_cast<size_t>(o)]);
      if (o != control) sources.push_back(bytes);
      for (const Byte& byte : bytes)
        if (o == control) indices.push_back(static_cast<uint8_t>(number(&byte, 1)));
    }
    const auto from =
        places(i.info.mnemonic, bytes_of(i.operands[0]), i.info.avx.vector_length / 8,
               has_immediate ? immediate(i) : uint8_t{0}, indices);
    if (!from) throw Refused{0, "an instruction that has no row"};
    Bytes to = zeros();
    for (size_t b = 0; b < from->size(); ++b)
      if (const Place& place = (*from)[b]; place.source >= 0)
        to[b] = sources.at(static_cast<size_t>(place.source))[static_cast<size_t>(place.byte)];
    give(i, to, width);
  }

  const MachineCode& code_;
  std::map<size_t, Instruction> instructions_;  // without the operands that are write masks
  WriteMask write_mask_;                        // of the present one
  Flags flags_;
};

}  // namespace pooljit::jit::x86
