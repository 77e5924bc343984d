// The encoder of jit/xbyak/vector_instructions.def: a disassembler reads what was written, for each row with
// registers of every kind, masks, and memory near and far.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "jit/machine_code.h"
#include "jit/xbyak/assembler.h"

namespace pooljit::test {
namespace {

using jit::MemoryOperand;
using jit::Source;
using jit::Vec;
using jit::VectorInstruction;

struct Row {
  std::string_view name, mnemonic, operands;
  VectorInstruction instruction;
};
constexpr Row rows[] = {
#define VECTOR(name, mnemonic, operands, ...) {#name, #mnemonic, #operands, jit::x86::name},
#include "jit/xbyak/vector_instructions.def"
#undef VECTOR
};

std::string text(const Vec& reg) {
  const std::string name = fmt::format("{}mm{}",
                                       reg.bytes == 16   ? 'x'
                                       : reg.bytes == 32 ? 'y'
                                                         : 'z',
                                       reg.number);
  return reg.mask == 0 ? name : fmt::format("{} {{k{}}}{}", name, reg.mask, reg.zeroes ? " {z}" : "");
}

std::string text(const MemoryOperand& memory) {
  constexpr std::string_view names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                        "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
  if (memory.base == MemoryOperand::buffer) return fmt::format("[0x{:016X}]", memory.offset);
  const std::string_view base = names[memory.base];
  if (memory.offset == 0) return fmt::format("[{}]", base);
  return fmt::format("[{}{}0x{:02X}]", base, memory.offset < 0 ? '-' : '+', std::abs(memory.offset));
}

// As a disassembler writes it, but for the size of memory. `imm`: -1: none.
std::string expected(const Row& row, const Vec& r, const Vec& v, const Source& m, int imm) {
  const std::string_view operands = row.operands.starts_with('s') ? "vmi" : row.operands;
  std::string all(row.mnemonic);
  std::string mask;
  for (size_t i = 0; i < operands.size(); ++i) {
    all += i == 0 ? " " : ", ";
    switch (operands[i]) {
      case 'k':
        all += fmt::format("k{}", r.number);
        break;
      case 'r':
        all += text(i == 0 ? r : Vec::of(r.number, r.bytes));
        break;
      case 'v':
        all += text(v);
        break;
      case 'm':
        all += m.is_memory() ? text(m.memory()) : text(m.reg());
        if (i == 0 && r.mask != 0) all += fmt::format(" {{k{}}}", r.mask);
        break;
      case 'i':
        all += fmt::format("0x{:02X}", imm);
        break;
      default:
        all += text(Vec::of(imm >> 4, r.bytes));
    }
  }
  return all;
}

std::string without_size(std::string text) {
  const size_t ptr = text.find(" ptr [");
  if (ptr == std::string::npos) return text;
  const size_t size = text.rfind(' ', ptr - 1) + 1;
  return text.erase(size, ptr + 5 - size);
}

// Registers that the row's instruction can have.
bool is_legal(const Row& row, int bytes) {
  const auto has = [&](std::string_view part) { return row.mnemonic.find(part) != std::string_view::npos; };
  if (row.instruction.encodings == VectorInstruction::vex && bytes == 64) return false;
  if (has("64x4")) return bytes == 64;
  return bytes >= 32 || !(has("i128") || has("32x4") || has("vpermd") || row.name.starts_with("vpermq"));
}

void expect_text(const Row& row, Vec r, const Vec& v, const Source& m) {
  std::vector<uint8_t> room(256);
  jit::Assembler assembler(room.size(), room.data());
  assembler.nop(64, false);  // so that memory of the buffer lies before it
  const size_t begin = assembler.getSize();
  const bool has_immediate = row.operands.find_first_of("ixs") != std::string_view::npos;
  const int imm = has_immediate ? 0x50 : jit::Assembler::no_immediate;
  if (row.operands.starts_with('s'))
    assembler.write_shift(row.instruction, v, m.reg(), imm);
  else if (row.operands.find('v') == std::string_view::npos)
    assembler.write(row.instruction, r, m, imm);
  else
    assembler.write(row.instruction, r, v, m, imm);
  room.resize(assembler.getSize());
  EXPECT_EQ(without_size(jit::text_of(room, begin)), expected(row, r, v, m, imm)) << row.name;
}

TEST(Assembler, WritesWhatADisassemblerReads) {
  const int far = 4096, near = 64;
  for (const Row& row : rows) {
    const bool takes_memory = !row.operands.starts_with('s');
    const bool takes_registers = row.operands.find("mr") == std::string_view::npos || row.operands == "mri";
    const bool only_memory =
        !takes_registers || row.operands == "mvr" || row.mnemonic.starts_with("vmaskmov");
    const int registers = row.instruction.encodings == VectorInstruction::vex ? 16 : 32;
    for (const int bytes : {16, 32, 64}) {
      if (!is_legal(row, bytes)) continue;
      const int part = row.instruction.memory >= 16 ? row.instruction.memory : bytes;
      const int source = row.mnemonic.starts_with("vpbroadcast") ? 16 : part;
      const auto reg = [&](int number) {
        return row.operands.starts_with('k') ? Vec::k(number % 8) : Vec::of(number, bytes);
      };
      for (int i = 0; i < registers; i += 5) {
        const int other = (i + 7) % registers, last = (i + 20) % registers;
        if (!only_memory) expect_text(row, reg(i), Vec::of(other, bytes), Vec::of(last, source));
        if (!takes_memory) continue;
        const auto base = static_cast<int8_t>(i % 16);
        for (const int offset : {0, near, -near, near + 1, far, -far})
          expect_text(row, reg(last), Vec::of(other, bytes), MemoryOperand{base, 16, offset});
        expect_text(row, reg(last), Vec::of(other, bytes), MemoryOperand{MemoryOperand::buffer, 16, 32});
      }
      const bool may_mask = registers == 32 && row.mnemonic != "vmovntps" && !row.operands.ends_with('i');
      if (!may_mask || !takes_memory) continue;
      expect_text(row, reg(9).masked(3), Vec::of(2, bytes), MemoryOperand{5, 16, near});
      if (!only_memory) expect_text(row, reg(9).masked(5, true), Vec::of(2, bytes), Vec::of(1, source));
    }
  }
}

// Words of 64 bits: registers that need a byte more in an address, or a bit in another place.
TEST(Assembler, WritesMovesOfWords) {
  std::vector<uint8_t> room(256);
  jit::Assembler assembler(room.size(), room.data());
  std::vector<std::string> expected;
  std::vector<size_t> begins;
  const auto expect = [&](const std::string& text) {
    expected.push_back(text);
    begins.push_back(assembler.getSize());
  };
  for (const MemoryOperand& memory :
       {MemoryOperand{0, 8, 0}, MemoryOperand{4, 8, 8}, MemoryOperand{12, 8, 0}, MemoryOperand{5, 8, 0},
        MemoryOperand{13, 8, -8}, MemoryOperand{9, 8, 1024}}) {
    expect("mov r10, " + text(memory));
    assembler.load_word(10, memory);
    expect("mov " + text(memory) + ", rbx");
    assembler.store_word(memory, 3);
    expect("lea r15, " + text(memory));
    assembler.load_address(15, memory);
  }
  expect("mov r9, rdx");
  assembler.copy_word(9, 2);
  expect("mov rcx, r14");
  assembler.copy_word(1, 14);
  expect("add rcx, 0x40");
  assembler.add_to_word(1, 64);
  expect("add r12, 0x1000");
  assembler.add_to_word(12, 4096);
  expect("add r8, 0xFFFFFFFFFFFFFF80");
  assembler.add_to_word(8, -128);
  room.resize(assembler.getSize());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(without_size(jit::text_of(room, begins[i])), expected[i]);
}

TEST(Assembler, RefusesWhatIsTooLong) {
  std::vector<uint8_t> room(24);
  jit::Assembler assembler(room.size(), room.data());
  assembler.write(jit::x86::vaddps, Vec::of(1, 32), Vec::of(2, 32), Vec::of(3, 32));
  assembler.write(jit::x86::vaddps, Vec::of(1, 32), Vec::of(2, 32), Vec::of(3, 32));
  EXPECT_EQ(assembler.getSize(), 8U);
  assembler.write(jit::x86::vaddps, Vec::of(1, 32), Vec::of(2, 32), Vec::of(3, 32));
  EXPECT_THROW(assembler.write(jit::x86::vaddps, Vec::of(1, 32), Vec::of(2, 32), Vec::of(3, 32)),
               Xbyak::Error);
}

}  // namespace
}  // namespace pooljit::test
