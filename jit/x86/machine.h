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
      : Base(base, memory, domain), code_(code) {}

  // From the entry to the return. Throws Refused.
  void run(int64_t most_steps) {
    const auto& all = code_.instructions();
    auto i = all.find(code_.entry());
    try {
      for (int64_t steps = 0; i->second.info.meta.category != ZYDIS_CATEGORY_RET; ++steps) {
        if (steps == most_steps) throw Refused{0, "too many instructions"};
        const size_t next = step(i->second);
        // Instructions do not overlap, so the one behind is the next of the map.
        i = next == i->second.end() ? std::next(i) : all.find(next);
      }
    } catch (const Refused& refused) {
      throw Refused{i->first, refused.why};
    }
  }

  // Gives the offset of the next instruction.
  size_t step(const Instruction& i) {
    const auto mnemonic = i.info.mnemonic;
    const auto category = i.info.meta.category;
    if (const VectorRow* row = find_row(mnemonic); row && i.info.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX) {
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
      for (auto& vector : this->vectors) std::fill(vector.begin() + 16, vector.end(), domain_.constant(0));
    } else if (mnemonic != ZYDIS_MNEMONIC_SFENCE) {
      word_step(i);
    }
    return i.end();
  }

 private:
  using Operand = ZydisDecodedOperand;
  using Base::address, Base::bytes_of, Base::bytes_of_number, Base::domain_, Base::is_register, Base::memory_,
      Base::number;
  using Base::read, Base::rsp, Base::vector_bytes, Base::write, Base::zeros;
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

  void vector_step(const Instruction& i, const VectorRow& row) {
    const Operand& to = i.operands[0];
    const auto operand = [&](size_t number) { return read(i, i.operands[number]); };
    LaneOp op = row.op;
    switch (row.form) {
      case Form::unary:
        return unary(i, row);
      case Form::binary:
        return write(i, to, lanes(op, operand(1), operand(2), zeros()));
      case Form::muladd132:
        return write(i, to, lanes(op, operand(0), operand(2), operand(1)));
      case Form::muladd213:
        return write(i, to, lanes(op, operand(1), operand(0), operand(2)));
      case Form::muladd231:
        return write(i, to, lanes(op, operand(1), operand(2), operand(0)));
      case Form::compare:
        if (const auto pred = predicate_of(immediate(i))) return compare(i, op, *pred);
        throw Refused{0, "a comparison that has no row"};
      case Form::equal:
        return compare(i, op, ir::Predicate::eq);
      case Form::greater:
        return compare(i, op, ir::Predicate::gt);
      case Form::bits_and:
        return bits(i, BitOp::and_);
      case Form::bits_and_not:
        return bits(i, BitOp::and_not);
      case Form::bits_or:
        return bits(i, BitOp::or_);
      case Form::bits_xor:
        return bits(i, BitOp::xor_);
      case Form::shift:
        op.imm = immediate(i);
        return write(i, to, lanes(op, operand(1), zeros(), zeros()));
      case Form::pack:
        return pack(i, row);
      case Form::choose:
        return choose(i, row);
      case Form::blend:
        return blend(i, row);
      case Form::guarded:
        return guarded(i, row);
      case Form::move:
        return write(i, to, operand(1));
      case Form::move4:
        return move_low(i, 4);
      case Form::move8:
        return move_low(i, 8);
      case Form::aligned:
        return move_aligned(i);
      case Form::places:
        return change_places(i);
    }
  }

  void move_low(const Instruction& i, int count) {
    Bytes bytes = read(i, i.operands[1]);
    std::fill(bytes.begin() + count, bytes.end(), domain_.constant(0));
    write(i, i.operands[0], bytes);
  }

  void move_aligned(const Instruction& i) {
    for (const Operand& operand : {i.operands[0], i.operands[1]})
      if (is_memory(operand) && address(i, operand) % static_cast<uint64_t>(bytes_of(operand)) != 0)
        throw Refused{0, "an address that need not be aligned as the instruction wants"};
    write(i, i.operands[0], read(i, i.operands[1]));
  }

  Bytes lanes(const LaneOp& op, const Bytes& a, const Bytes& b, const Bytes& c) {
    Bytes to;
    const auto width = static_cast<size_t>(ir::bytes(op.type));
    for (size_t at = 0; at < to.size(); at += width)
      domain_.lane(op, {a.data() + at, b.data() + at, c.data() + at}, to.data() + at);
    return to;
  }

  void unary(const Instruction& i, const VectorRow& row) {
    const Operand &to = i.operands[0], &from = i.operands[1];
    if (i.info.mnemonic == ZYDIS_MNEMONIC_VCVTPS2PH && (immediate(i) & 7) != 0 && (immediate(i) & 4) == 0)
      throw Refused{0, "another rounding"};
    const int width = ir::bytes(row.op.type), width_of_from = ir::bytes(row.op.from);
    const int count = std::min(bytes_of(to) / width, bytes_of(from) / width_of_from);
    const Bytes all = read(i, from);
    Bytes result = zeros();
    for (int lane = 0; lane < count; ++lane) {
      const Byte* const at = all.data() + lane * width_of_from;
      domain_.lane(row.op, {at, at, at}, result.data() + lane * width);
    }
    write(i, to, result);
  }

  void compare(const Instruction& i, LaneOp op, ir::Predicate pred) {
    op.pred = pred;
    write(i, i.operands[0], lanes(op, read(i, i.operands[1]), read(i, i.operands[2]), zeros()));
  }

  void bits(const Instruction& i, BitOp op) {
    const Bytes a = read(i, i.operands[1]), b = read(i, i.operands[2]);
    Bytes to;
    domain_.bits(op, a.data(), b.data(), to.data(), vector_bytes);
    write(i, i.operands[0], to);
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
    write(i, i.operands[0], to);
  }

  void choose(const Instruction& i, const VectorRow& row) {
    const Bytes a = read(i, i.operands[1]), b = read(i, i.operands[2]), mask = read(i, i.operands[3]);
    Bytes to;
    domain_.choose(mask.data(), b.data(), a.data(), to.data(), vector_bytes, ir::bytes(row.op.type));
    write(i, i.operands[0], to);
  }

  void blend(const Instruction& i, const VectorRow& row) {
    Bytes to = read(i, i.operands[1]);
    const Bytes b = read(i, i.operands[2]);
    const int width = ir::bytes(row.op.type), bits = i.info.mnemonic == ZYDIS_MNEMONIC_VPBLENDW ? 8 : 32;
    for (int at = 0; at < vector_bytes; ++at)
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

  void change_places(const Instruction& i) {
    const int count = i.info.operand_count_visible;
    const bool has_immediate = i.operands[count - 1U].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    const int control = control_operand(i.info.mnemonic, has_immediate);
    std::vector<Bytes> sources;
    std::vector<uint8_t> indices;
    for (int o = 1; o < count - (has_immediate ? 1 : 0); ++o) {
      const Bytes bytes = read(i, i.operands[static_cast<size_t>(o)]);
      if (o != control) sources.push_back(bytes);
      for (const Byte& byte : bytes)
        if (o == control) indices.push_back(static_cast<uint8_t>(number(&byte, 1)));
    }
    const auto from =
        places(i.info.mnemonic, bytes_of(i.operands[0]), has_immediate ? immediate(i) : uint8_t{0}, indices);
    if (!from) throw Refused{0, "an instruction that has no row"};
    Bytes to = zeros();
    for (size_t b = 0; b < from->size(); ++b)
      if (const Place& place = (*from)[b]; place.source >= 0)
        to[b] = sources.at(static_cast<size_t>(place.source))[static_cast<size_t>(place.byte)];
    write(i, i.operands[0], to);
  }

  const MachineCode& code_;
  Flags flags_;
};

}  // namespace pooljit::jit::x86
