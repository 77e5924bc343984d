#include "jit/xbyak/assembler.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "ir/check.h"

namespace pooljit::jit {

namespace {

constexpr size_t longest_instruction = 16;

constexpr bool is_byte(int number) {
  return number >= std::numeric_limits<int8_t>::min() && number <= std::numeric_limits<int8_t>::max();
}
constexpr bool third_bit(int number) { return (number & 8) != 0; }
constexpr bool fourth_bit(int number) { return (number & 16) != 0; }
constexpr uint8_t modrm(int mod, int reg, int rm) {
  return static_cast<uint8_t>(mod << 6 | (reg & 7) << 3 | (rm & 7));
}

uint8_t* put_number(uint8_t* at, int32_t number) {
  std::memcpy(at, &number, sizeof number);
  return at + sizeof number;
}

// Bits of both encodings are stored inverted.
uint8_t* put_vex(uint8_t* at, const VectorInstruction& row, const Vec& r, const Vec& v, int rm) {
  const int length_and_prefix = (r.bytes == 32 ? 4 : 0) | row.prefix;
  const int r_bit = third_bit(r.number) ? 0 : 0x80, v_bits = (~v.number & 15) << 3;
  if (!third_bit(rm) && !row.vex_w && row.map == VectorInstruction::of) {
    *at++ = 0xc5;
  } else {
    *at++ = 0xc4;
    *at++ = static_cast<uint8_t>(r_bit | 0x40 | (third_bit(rm) ? 0 : 0x20) | row.map);
  }
  const int first = at[-1] == 0xc5 ? r_bit : row.vex_w ? 0x80 : 0;
  *at++ = static_cast<uint8_t>(first | v_bits | length_and_prefix);
  *at++ = row.opcode;
  return at;
}

uint8_t* put_evex(uint8_t* at, const VectorInstruction& row, const Vec& r, const Vec& v, int rm, int bytes) {
  *at++ = 0x62;
  *at++ = static_cast<uint8_t>((third_bit(r.number) ? 0 : 0x80) | (fourth_bit(rm) ? 0 : 0x40) |
                               (third_bit(rm) ? 0 : 0x20) | (fourth_bit(r.number) ? 0 : 0x10) | row.map);
  *at++ = static_cast<uint8_t>((row.evex_w ? 0x80 : 0) | (~v.number & 15) << 3 | 4 | row.prefix);
  *at++ =
      static_cast<uint8_t>((r.zeroes ? 0x80 : 0) | bytes / 32 << 5 | (fourth_bit(v.number) ? 0 : 8) | r.mask);
  *at++ = row.opcode;
  return at;
}

}  // namespace

uint8_t* Assembler::room() {
  if (size_ + longest_instruction > maxSize_) throw Xbyak::Error(Xbyak::ERR_CODE_IS_TOO_BIG);
  return top_ + size_;
}

void Assembler::write(const VectorInstruction& row, Vec r, Vec v, const Source& m, int immediate) {
  const int rm = !m.is_memory()                             ? m.reg().number
                 : m.memory().base == MemoryOperand::buffer ? 0
                                                            : m.memory().base;
  const int bytes = std::max({r.bytes, v.bytes, m.is_memory() ? uint8_t{0} : m.reg().bytes});
  const bool is_evex = row.encodings == VectorInstruction::evex || bytes == 64 || r.mask != 0 ||
                       ((r.number | v.number | rm) & 16) != 0;
  uint8_t* at = room();
  if (is_evex) {
    POOLJIT_CHECK(row.encodings != VectorInstruction::vex, "an instruction without such registers");
    at = put_evex(at, row, r, v, rm, bytes);
  } else {
    at = put_vex(at, row, r, v, rm);
  }
  const int scale = !is_evex ? 1 : row.memory != 0 ? row.memory : bytes;
  if (m.is_memory())
    at = put_memory(at, r.number, m.memory(), scale, immediate == no_immediate ? 0 : 1);
  else
    *at++ = modrm(3, r.number, rm);
  if (immediate != no_immediate) *at++ = static_cast<uint8_t>(immediate);
  used(at);
}

uint8_t* Assembler::put_memory(uint8_t* at, int reg, const MemoryOperand& memory, int scale,
                               int immediate_bytes) const {
  constexpr int stack_pointer = 4, frame_pointer = 5;  // the low bits of registers that mean something else
  const int low = memory.base & 7;
  const bool is_short = memory.offset % scale == 0 && is_byte(memory.offset / scale);
  if (memory.base == MemoryOperand::buffer) {  // from behind the instruction
    *at++ = modrm(0, reg, frame_pointer);
    const auto here = static_cast<int32_t>(at - top_);
    return put_number(at, memory.offset - (here + 4 + immediate_bytes));
  }
  const int mod = memory.offset == 0 && low != frame_pointer ? 0 : is_short ? 1 : 2;
  *at++ = modrm(mod, reg, low);
  if (low == stack_pointer) *at++ = modrm(0, stack_pointer, stack_pointer);
  if (mod == 0) return at;
  if (mod == 2) return put_number(at, memory.offset);
  *at++ = static_cast<uint8_t>(memory.offset / scale);
  return at;
}

void Assembler::write_word(uint8_t opcode, int reg, const MemoryOperand& memory) {
  uint8_t* at = room();
  *at++ = static_cast<uint8_t>(0x48 | (third_bit(reg) ? 4 : 0) | (third_bit(memory.base) ? 1 : 0));
  *at++ = opcode;
  used(put_memory(at, reg, memory, 1, 0));
}

void Assembler::copy_word(int to, int from) {
  uint8_t* at = room();
  *at++ = static_cast<uint8_t>(0x48 | (third_bit(from) ? 4 : 0) | (third_bit(to) ? 1 : 0));
  *at++ = 0x89;
  *at++ = modrm(3, from, to);
  used(at);
}

void Assembler::add_to_word(int to, int32_t number) {
  const bool is_short = is_byte(number);
  uint8_t* at = room();
  *at++ = static_cast<uint8_t>(0x48 | (third_bit(to) ? 1 : 0));
  *at++ = is_short ? 0x83 : 0x81;
  *at++ = modrm(3, 0, to);
  at = put_number(at, number);
  used(is_short ? at - 3 : at);
}

Xbyak::Xmm Assembler::xmm(const Vec& reg) {
  const auto kind = reg.bytes == 16   ? Xbyak::Operand::XMM
                    : reg.bytes == 32 ? Xbyak::Operand::YMM
                                      : Xbyak::Operand::ZMM;
  return {kind, reg.number};
}

Xbyak::Address Assembler::address(const MemoryOperand& memory) const {
  const Xbyak::AddressFrame frame(8 * static_cast<uint32_t>(memory.bytes));
  if (memory.base == MemoryOperand::buffer)
    return frame[rip + static_cast<const void*>(top_ + memory.offset)];
  return frame[Xbyak::Reg64(memory.base) + memory.offset];
}

}  // namespace pooljit::jit
