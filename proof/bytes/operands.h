// The registers of a processor whose bytes are of a domain (proof/bytes/executor.h), and instructions'
// operands.
#pragma once

#include <algorithm>
#include <array>

#include "proof/bytes/memory.h"
#include "proof/bytes/words.h"

namespace pooljit::jit::x86 {

template <class Domain>
class OperandBytes {
 public:
  using Byte = typename Domain::Byte;
  static constexpr int vector_bytes = 64;
  using Vector = std::array<Byte, vector_bytes>;
  using Word = std::array<Byte, 8>;

  // base: where the code's first instruction lies in `memory`.
  OperandBytes(uint64_t base, Memory<Byte>& memory, Domain& domain)
      : base_(base), memory_(memory), domain_(domain) {
    size_t next = 0;
    const auto forget = [&](auto& registers) {
      for (auto& bytes : registers)
        for (Byte& byte : bytes) byte = domain_.unwritten(next++);
    };
    forget(vectors), forget(masks);
  }

  std::array<Word, 16> words{};
  std::array<Vector, 32> vectors;
  // A byte for each lane, whose top bit counts.
  std::array<Vector, 8> masks;

  Word word_of(uint64_t value) const {
    Word word;
    for (int i = 0; i < 8; ++i)
      word[static_cast<size_t>(i)] = domain_.constant(static_cast<uint8_t>(value >> 8 * i));
    return word;
  }

 protected:
  using Operand = ZydisDecodedOperand;
  // Of an operand: a vector's, a word's, or memory's; those that it does not have are zeros.
  using Bytes = std::array<Byte, vector_bytes>;

  // Throws Refused for more than there is room for.
  static int bytes_of(const Operand& operand) {
    if (operand.size / 8 > vector_bytes) throw Refused{0, "an operand that is too wide"};
    return operand.size / 8;
  }
  static bool is_register(const Operand& operand) { return operand.type == ZYDIS_OPERAND_TYPE_REGISTER; }

  static bool is_same_register(const Operand& a, const Operand& b) {
    return is_register(a) && is_register(b) && a.reg.value == b.reg.value;
  }

  // --- numbers

  // None where one depends on data.
  std::optional<uint64_t> known_number(const Byte* bytes, int count) const {
    uint64_t value = 0;
    for (int i = 0; i < count; ++i) {
      const std::optional<uint8_t> byte = domain_.known(bytes[i]);
      if (!byte) return std::nullopt;
      value |= uint64_t{*byte} << 8 * i;
    }
    return value;
  }
  uint64_t number(const Byte* bytes, int count) const {
    const std::optional<uint64_t> value = known_number(bytes, count);
    if (value) return *value;
    if (std::any_of(bytes, bytes + count, [&](const Byte& byte) { return domain_.is_unwritten(byte); }))
      throw Refused{0, "a register that nothing was written to", true};
    throw Refused{0, "a number that depends on data"};
  }
  uint64_t number(ZydisRegister reg) const {
    if (reg == ZYDIS_REGISTER_NONE) return 0;
    const RegisterName name = name_of(reg);
    return number(words[name.number].data(), name.bits / 8);
  }

  uint64_t address(const Instruction& i, const Operand& operand) const {
    if (operand.mem.segment != ZYDIS_REGISTER_DS && operand.mem.segment != ZYDIS_REGISTER_SS)
      throw Refused{0, "an address in another segment"};
    if (i.info.address_width != 64) throw Refused{0, "an address of 32 bits"};
    const auto displacement = static_cast<uint64_t>(operand.mem.disp.value);
    if (operand.mem.base == ZYDIS_REGISTER_RIP) return base_ + i.end() + displacement;
    if (name_of(operand.mem.index).kind == RegisterKind::vector)
      throw Refused{0, "addresses in a vector register"};
    return number(operand.mem.base) + number(operand.mem.index) * operand.mem.scale + displacement;
  }

  // --- operands

  // A domain's Byte is 0 where nothing else is said.
  static Bytes zeros() { return Bytes{}; }

  Bytes read(const Instruction& i, const Operand& operand) {
    // The whole vector: some instructions name a part of it, and take another.
    if (is_register(operand))
      if (const RegisterName name = named(operand); name.kind == RegisterKind::vector)
        return vectors[name.number];
    Bytes bytes = zeros();
    if (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
      for (int b = 0; b < 8; ++b)
        bytes[static_cast<size_t>(b)] = domain_.constant(static_cast<uint8_t>(operand.imm.value.u >> 8 * b));
    } else if (is_memory(operand)) {
      return load(i, operand, nullptr);
    } else {
      std::copy_n(words[named(operand).number].begin(), bytes_of(operand), bytes.begin());
    }
    return bytes;
  }

  // mask: for each byte, whether it is loaded; null: all are. The others are zeros.
  Bytes load(const Instruction& i, const Operand& operand, const std::array<bool, vector_bytes>* mask) {
    Bytes bytes;
    load_to(bytes, i, operand, mask);
    return bytes;
  }
  void load_to(Bytes& bytes, const Instruction& i, const Operand& operand,
               const std::array<bool, vector_bytes>* mask) {
    const uint64_t at = address(i, operand);
    const bool repeats = i.info.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID &&
                         i.info.avx.broadcast.is_static == ZYAN_FALSE;
    const auto unit = static_cast<size_t>(repeats ? operand.element_size / 8 : bytes_of(operand));
    if (!repeats && !mask) {
      memory_.load(at, unit, bytes.data());
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(unit), bytes.end(), Byte{});
      return;
    }
    bytes = zeros();
    for (size_t b = 0; b < (repeats ? i.info.avx.vector_length / 8U : unit); ++b)
      if (!mask || (*mask)[b]) memory_.load(at + b % unit, 1, &bytes[b]);
  }

  // The lowest `width` bytes of a word, an immediate or memory; none where one depends on data.
  std::optional<uint64_t> known_number(const Instruction& i, const Operand& operand, int width) {
    if (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
      return width == 8 ? operand.imm.value.u : operand.imm.value.u & ((uint64_t{1} << 8 * width) - 1);
    Word loaded;
    const Byte* from = loaded.data();
    const int count = std::min(operand.size / 8, width);
    if (is_memory(operand)) {
      memory_.load(address(i, operand), static_cast<size_t>(count), loaded.data());
    } else {
      const RegisterName name = named(operand);
      if (name.kind != RegisterKind::word) return std::nullopt;
      from = words[name.number].data();
    }
    return known_number(from, count);
  }

  static RegisterName named(const Operand& operand) {
    if (!is_register(operand)) throw Refused{0, "an operand of a kind that has no row"};
    const RegisterName name = name_of(operand.reg.value);
    const bool is_known =
        name.kind == RegisterKind::vector || (name.kind == RegisterKind::word && name.is_low);
    if (!is_known) throw Refused{0, "a register that has no row"};
    return name;
  }

  static bool is_mask(const Operand& operand) {
    return is_register(operand) && name_of(operand.reg.value).kind == RegisterKind::mask;
  }
  Vector& mask_of(const Operand& operand) { return masks[name_of(operand.reg.value).number]; }

  // A vector's upper part becomes zero, a word's if 32 bits are written.
  void write(const Instruction& i, const Operand& operand, const Bytes& bytes) {
    if (is_memory(operand)) {
      return memory_.store(address(i, operand), static_cast<size_t>(bytes_of(operand)), bytes.data());
    }
    const RegisterName name = named(operand);
    if (name.kind == RegisterKind::vector) {
      Vector& to = vectors[name.number];
      const auto end = std::copy_n(bytes.begin(), bytes_of(operand), to.begin());
      std::fill(end, to.end(), Byte{});
      return;
    }
    if (name.bits == 32) words[name.number] = word_of(0);
    std::copy_n(bytes.begin(), name.bits / 8, words[name.number].begin());
  }

  void write_number(const Instruction& i, const Operand& operand, uint64_t value) {
    if (is_memory(operand)) {
      const Word word = word_of(value);
      return memory_.store(address(i, operand), static_cast<size_t>(operand.size / 8), word.data());
    }
    const RegisterName name = named(operand);
    if (name.kind != RegisterKind::word) return write(i, operand, bytes_of_number(value));
    const Word word = word_of(name.bits == 32 ? value & 0xffffffff : value);
    std::copy_n(word.begin(), name.bits == 32 ? 8 : name.bits / 8, words[name.number].begin());
  }

  Bytes bytes_of_number(uint64_t value) const {
    Bytes bytes = zeros();
    const Word word = word_of(value);
    std::copy(word.begin(), word.end(), bytes.begin());
    return bytes;
  }

  static uint8_t immediate(const Instruction& i) {
    const Operand& last = i.operands[i.info.operand_count_visible - 1U];
    if (last.type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
      throw Refused{0, "a count or a choice that is no immediate"};
    return static_cast<uint8_t>(last.imm.value.u);
  }

  // --- write masks

  // Lanes that are not written, where k1 to k7 are given with an instruction.
  struct WriteMask {
    size_t number = 0;
    bool zeroes = false;
  };

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

  // An operand by its number, until it is read again.
  const Bytes& read_whole(const Instruction& i, size_t number) {
    const Operand& operand = i.operands[number];
    if (is_register(operand))
      if (const RegisterName name = named(operand); name.kind == RegisterKind::vector)
        return vectors[name.number];
    return read_[number] = read(i, operand);
  }

  // The same; lanes that the write mask leaves out may lie where nothing is; where it depends on data, all
  // are there.
  const Bytes& read_lanes(const Instruction& i, size_t number, int width) {
    const Operand& operand = i.operands[number];
    if (!is_memory(operand)) return read_whole(i, number);
    const Bytes& mask = masks[write_mask_.number];
    const bool is_whole = write_mask_.number == 0 ||
                          !std::ranges::all_of(mask, [&](const Byte& byte) { return !!domain_.known(byte); });
    Bytes& bytes = read_[number];
    if (is_whole) return load_to(bytes, i, operand, nullptr), bytes;
    const auto wanted = numbers(spread(mask, width));
    return load_to(bytes, i, operand, &wanted), bytes;
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
          memory_.store(at + static_cast<uint64_t>(b), 1, &bytes[static_cast<size_t>(b)]);
      return;
    }
    const Bytes old = write_mask_.zeroes ? zeros() : read(i, to);
    Bytes chosen = zeros();
    domain_.choose(mask.data(), bytes.data(), old.data(), chosen.data(), count, width);
    write(i, to, chosen);
  }

  static constexpr size_t rsp = 4;
  const uint64_t base_;
  Memory<Byte>& memory_;
  Domain& domain_;
  WriteMask write_mask_;       // of the present instruction
  std::array<Bytes, 4> read_;  // by operand: what lies in no vector register
};

}  // namespace pooljit::jit::x86
