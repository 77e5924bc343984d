// The general registers' instructions beside the processor, with the conditions after them; what is refused.
#include <gtest/gtest.h>

#include "proof/x86_code.h"

namespace pooljit::jit::x86 {
namespace {

using Xbyak::Ymm, Xbyak::Zmm;
const Ymm y0(0), y1(1), y2(2);

struct WordCase {
  const char* name;
  bool tells_carry;  // and overflow
  void (*emit)(Code& code, int imm);
};

// Which of the conditions hold, behind the result.
void tell_conditions(Code& code, bool tells_carry) {
  code.mov(code.r8d, 1);
  const auto tell = [&](int place, auto choose) {
    code.mov(code.edx, 0);
    choose();
    code.mov(code.ptr[code.rdi + 24 + 4 * place], code.edx);
  };
  tell(0, [&] { code.cmovz(code.edx, code.r8d); });
  tell(1, [&] { code.cmovnz(code.edx, code.r8d); });
  tell(2, [&] { code.cmovs(code.edx, code.r8d); });
  tell(3, [&] { code.cmovns(code.edx, code.r8d); });
  if (tells_carry) {
    tell(4, [&] { code.cmovb(code.edx, code.r8d); });
    tell(5, [&] { code.cmovnb(code.edx, code.r8d); });
    tell(6, [&] { code.cmovbe(code.edx, code.r8d); });
    tell(7, [&] { code.cmova(code.edx, code.r8d); });
    tell(8, [&] { code.cmovl(code.edx, code.r8d); });
    tell(9, [&] { code.cmovge(code.edx, code.r8d); });
    tell(10, [&] { code.cmovle(code.edx, code.r8d); });
    tell(11, [&] { code.cmovg(code.edx, code.r8d); });
  }
}

TEST(X86Words, DoWhatTheProcessorDoes) {
  const WordCase all[] = {
      {"add", true, [](Code& c, int) { c.add(c.rax, c.rcx); }},
      {"add 32", true, [](Code& c, int) { c.add(c.eax, c.ecx); }},
      {"add imm", true, [](Code& c, int imm) { c.add(c.rax, imm - 128); }},
      {"sub", true, [](Code& c, int) { c.sub(c.rax, c.rcx); }},
      {"sub 32", true, [](Code& c, int) { c.sub(c.eax, c.ecx); }},
      {"cmp", true, [](Code& c, int) { c.cmp(c.rax, c.rcx); }},
      {"cmp imm", true, [](Code& c, int imm) { c.cmp(c.rax, imm - 128); }},
      {"cmp 8", true, [](Code& c, int) { c.cmp(c.al, c.cl); }},
      {"test", true, [](Code& c, int) { c.test(c.rax, c.rcx); }},
      {"and", true, [](Code& c, int) { c.and_(c.rax, c.rcx); }},
      {"andn", true, [](Code& c, int) { c.andn(c.rax, c.rcx, c.rax); }},
      {"andn 32", true, [](Code& c, int) { c.andn(c.eax, c.eax, c.ecx); }},
      {"or", true, [](Code& c, int) { c.or_(c.rax, c.rcx); }},
      {"xor", true, [](Code& c, int) { c.xor_(c.rax, c.rcx); }},
      {"xor self", true, [](Code& c, int) { c.xor_(c.eax, c.eax); }},
      {"neg", true, [](Code& c, int) { c.neg(c.rax); }},
      {"adc", true, [](Code& c, int imm) { c.add(c.rcx, imm - 128), c.adc(c.rax, c.rcx); }},
      {"sbb", true, [](Code& c, int imm) { c.cmp(c.rcx, imm - 128), c.sbb(c.eax, c.ecx); }},
      {"inc after add", true, [](Code& c, int) { c.add(c.rcx, c.rax), c.inc(c.rax); }},
      {"inc", false, [](Code& c, int) { c.inc(c.rax); }},
      {"dec", false, [](Code& c, int) { c.dec(c.rax); }},
      {"shl", false, [](Code& c, int imm) { c.shl(c.rax, imm % 63 + 1); }},
      {"shr", false, [](Code& c, int imm) { c.shr(c.rax, imm % 63 + 1); }},
      {"sar", false, [](Code& c, int imm) { c.sar(c.eax, imm % 31 + 1); }},
  };
  std::mt19937_64 random(2);
  for (const WordCase& one : all)
    for (int run = 0; run < cases / 250; ++run) {
      Code code;
      code.mov(code.rax, code.ptr[code.rdi]);
      code.mov(code.rcx, code.ptr[code.rdi + 8]);
      one.emit(code, static_cast<int>(random() % 256));
      code.mov(code.ptr[code.rdi + 16], code.rax);
      tell_conditions(code, one.tells_carry);
      code.ret();
      for (int repeat = 0; repeat < 250; ++repeat) {
        Data mine = drawn(ir::DType::i64, random), of_processor = mine;
        execute(code, mine);
        code.getCode<void (*)(void*)>()(of_processor.memory.data());
        ASSERT_EQ(mine.memory, of_processor.memory) << one.name;
      }
    }
}

// What has no row is refused, with its place.
TEST(X86Machine, RefusesWhatItDoesNotKnow) {
  const struct {
    const char* sentence;
    void (*emit)(Code& code);
  } all[] = {
      {"an instruction that has no row", [](Code& c) { c.vpsadbw(y0, y1, y2); }},
      {"an instruction that has no row", [](Code& c) { c.bswap(c.rax); }},
      {"an instruction that has no row", [](Code& c) { c.vpsadbw(Zmm(0), Zmm(1), c.ptr[c.rdi]); }},
      {"an operand that is too wide", [](Code& c) { c.fxrstor(c.ptr[c.rdi]); }},
      {"an access outside all buffers", [](Code& c) { c.vmovups(y0, c.ptr[c.rdi + bytes - 16]); }},
      {"an address that need not be aligned as the instruction wants",
       [](Code& c) { c.vmovaps(y0, c.ptr[c.rdi + 16]); }},
      {"an address of 32 bits", [](Code& c) { c.vmovups(y0, c.ptr[c.edi]); }},
      {"an access outside all buffers", [](Code& c) { c.mov(c.rax, c.ptr[c.rdi - 1]); }},
  };
  for (const auto& one : all) {
    Code code;
    one.emit(code);
    code.ret();
    Data data = {};
    try {
      execute(code, data);
      ADD_FAILURE() << "not refused: " << one.sentence;
    } catch (const Refused& refused) {
      EXPECT_EQ(refused.why, one.sentence);
    }
  }
}

TEST(X86Machine, EndsWhatGoesOnForever) {
  Code code;
  Xbyak::Label here;
  code.L(here);
  code.jmp(here);
  Data data = {};
  EXPECT_THROW(execute(code, data), TooManySteps);
}

}  // namespace
}  // namespace pooljit::jit::x86
