// Assembler: Xbyak's, with an encoder of its own for what kernels are mostly made of: vector instructions,
// and moves and additions of pointers. Xbyak looks at the kinds of all operands in each call.
#pragma once

#include <xbyak/xbyak.h>

#include <cstdint>
#include <string_view>

namespace pooljit::jit {

// A vector register of 16, 32 or 64 bytes; smaller vectors lie in 16. Or a mask register, of 0.
struct Vec {
  uint8_t number = 0, bytes = 16;
  uint8_t mask = 0;  // the k register that says which lanes are written; 0: all
  bool zeroes = false;

  static Vec of(int number, int bytes) {
    return {static_cast<uint8_t>(number), static_cast<uint8_t>(bytes <= 16 ? 16 : bytes)};
  }
  static Vec k(int number) { return {static_cast<uint8_t>(number), 0}; }
  Vec sized(int as_bytes) const { return of(number, as_bytes); }
  Vec masked(int by, bool zeroed = false) const { return {number, bytes, static_cast<uint8_t>(by), zeroed}; }
};

// Bytes behind a pointer, or behind the beginning of the assembler's buffer.
struct MemoryOperand {
  static constexpr int8_t buffer = -1;
  int8_t base = buffer;  // a general register
  uint8_t bytes = 16;
  int32_t offset = 0;
};

// A vector operand: a register or memory.
class Source {
 public:
  Source(const Vec& reg) : reg_(reg) {}
  Source(const MemoryOperand& memory) : memory_(memory), is_memory_(true) {}
  bool is_memory() const { return is_memory_; }
  const Vec& reg() const { return reg_; }
  const MemoryOperand& memory() const { return memory_; }

 private:
  Vec reg_;
  MemoryOperand memory_;
  bool is_memory_ = false;
};

// A row of jit/xbyak/vector_instructions.def.
struct VectorInstruction {
  enum Prefix : uint8_t { none, p66, pf3, pf2 };
  enum Map : uint8_t { of = 1, of38, of3a };
  enum Encodings : uint8_t { vex, evex, any };

  uint8_t opcode = 0;
  Prefix prefix = none;
  Map map = of;
  bool vex_w = false, evex_w = false;
  Encodings encodings = any;
  uint8_t memory = 0;  // bytes; 0: a whole register
  uint8_t digit = 0;   // of shifts, in the place of a register
};

namespace x86 {
inline constexpr uint8_t whole = 0;
#define VECTOR(name, mnemonic, operands, prefix, map, opcode, w, encodings, memory) \
  inline constexpr VectorInstruction name{opcode,                                   \
                                          VectorInstruction::prefix,                \
                                          VectorInstruction::map,                   \
                                          #w[0] == '1',                             \
                                          #w[0] != '0',                             \
                                          VectorInstruction::encodings,             \
                                          memory,                                   \
                                          #operands[0] == 's' ? #operands[1] - '0' : 0};
#include "jit/xbyak/vector_instructions.def"
#undef VECTOR
}  // namespace x86

class Assembler : public Xbyak::CodeGenerator {
 public:
  using CodeGenerator::CodeGenerator;

  // As in the row's column `operands`: the registers r and v, and m. Like all of Xbyak, they throw
  // Xbyak::Error if the buffer is full.
  static constexpr int no_immediate = -1;
  void write(const VectorInstruction& row, Vec r, Vec v, const Source& m, int immediate = no_immediate);
  void write(const VectorInstruction& row, Vec r, const Source& m, int immediate = no_immediate) {
    write(row, r, Vec(), m, immediate);
  }
  void write_shift(const VectorInstruction& row, Vec to, Vec from, int bits) {
    write(row, {row.digit, to.bytes}, to, from, bits);
  }

  // Of 64 bits.
  void load_word(int to, const MemoryOperand& from) { write_word(0x8b, to, from); }
  void store_word(const MemoryOperand& to, int from) { write_word(0x89, from, to); }
  void load_address(int to, const MemoryOperand& of) { write_word(0x8d, to, of); }
  void copy_word(int to, int from);
  void add_to_word(int to, int32_t number);  // not rax

  // For what has no row.
  static Xbyak::Xmm xmm(const Vec& reg);
  Xbyak::Address address(const MemoryOperand& memory) const;

 private:
  uint8_t* room();
  void used(const uint8_t* end) { size_ = static_cast<size_t>(end - top_); }
  void write_word(uint8_t opcode, int reg, const MemoryOperand& memory);
  // ModRM and displacement, which is a multiple of `scale` where it is short; the immediate behind it.
  uint8_t* put_memory(uint8_t* at, int reg, const MemoryOperand& memory, int scale,
                      int immediate_bytes) const;
};

}  // namespace pooljit::jit
