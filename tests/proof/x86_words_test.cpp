// The general registers' instructions beside the processor, with the conditions after them; what is refused.
#include <gtest/gtest.h>

#include "proof/x86_code.h"

namespace pooljit::jit::x86 {
namespace {

using Xbyak::Zmm;

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
      const Execution<NumberDomain> numbers(code);
      for (int repeat = 0; repeat < 250; ++repeat) {
        Data mine = drawn(ir::DType::i64, random), of_processor = mine;
        execute(numbers, mine);
        code.getCode<void (*)(void*)>()(of_processor.memory.data());
        ASSERT_EQ(mine.memory, of_processor.memory) << one.name;
      }
    }
}

// Numbers that the machine must not look at, as if they were data: what it does with those goes through the
// domain.
struct HiddenNumbers {
  struct Byte {
    uint8_t number = 0;
    bool is_hidden = false;
  };
  static Byte constant(uint8_t value) { return {value, false}; }
  static uint8_t value(const Byte& byte) { return byte.number; }
  static std::optional<uint8_t> known(const Byte& byte) {
    return byte.is_hidden ? std::nullopt : std::optional(byte.number);
  }
  static Byte unwritten(size_t /*number*/) { return {}; }
  static bool is_unwritten(const Byte& /*byte*/) { return false; }
  static void lane(const LaneOp& op, const std::array<const Byte*, 3>& args, Byte* to) {
    std::array<std::array<uint8_t, 8>, 3> numbers = {};
    std::array<const uint8_t*, 3> all = {};
    for (size_t i = 0; i < all.size(); ++i) {
      std::transform(args[i], args[i] + ir::bytes(op.from), numbers[i].begin(), value);
      all[i] = numbers[i].data();
    }
    std::array<uint8_t, 8> result = {};
    NumberDomain::lane(op, all, result.data());
    std::transform(result.begin(), result.begin() + ir::bytes(op.type), to, hidden);
  }
  static void bits(BitOp op, const Byte* a, const Byte* b, Byte* to, int count) {
    for (int i = 0; i < count; ++i)
      to[i] = hidden(static_cast<uint8_t>(combine(op, a[i].number, b[i].number)));
  }
  static void choose(const Byte* mask, const Byte* a, const Byte* b, Byte* to, int count, int width) {
    for (int at = 0; at < count; ++at)
      to[at] = (mask[at / width * width + width - 1].number & 0x80) != 0 ? a[at] : b[at];
  }
  static Byte hidden(uint8_t number) { return {number, true}; }
};

// Which conditions are told behind an instruction on data.
enum class Told { none, of_zero, of_comparison, of_floats };
struct DataCase {
  const char* name;
  Told told;
  void (*emit)(Code& code, int imm);
};

void tell_conditions_of_data(Code& code, Told told) {
  code.mov(code.r8d, 1);
  int place = 0;
  const auto tell = [&](auto choose, auto set) {
    code.mov(code.edx, 0);
    choose();
    code.mov(code.ptr[code.rdi + 24 + 8 * place], code.edx);
    set(code.ptr[code.rdi + 28 + 8 * place++]);
  };
#define TELL(cc) tell([&] { code.cmov##cc(code.edx, code.r8d); }, [&](const auto& to) { code.set##cc(to); });
  if (told == Told::of_zero || told == Told::of_comparison) {
    TELL(z) TELL(nz) TELL(b) TELL(nb) TELL(be) TELL(a) TELL(l) TELL(ge) TELL(le) TELL(g)
  }
  if (told == Told::of_zero) {
    TELL(s) TELL(ns)
  }
  if (told == Told::of_floats) {
    TELL(p) TELL(np) TELL(b) TELL(nb) TELL(be) TELL(a)
  }
#undef TELL
}

const DataCase cases_of_data[] = {
    {"add", Told::none, [](Code& c, int) { c.add(c.rax, c.rcx); }},
    {"add 32", Told::none, [](Code& c, int) { c.add(c.eax, c.ecx); }},
    {"add imm", Told::none, [](Code& c, int imm) { c.add(c.rax, imm - 128); }},
    {"sub", Told::none, [](Code& c, int) { c.sub(c.rax, c.rcx); }},
    {"sub 32", Told::none, [](Code& c, int) { c.sub(c.eax, c.ecx); }},
    {"inc", Told::none, [](Code& c, int) { c.inc(c.rax); }},
    {"dec 32", Told::none, [](Code& c, int) { c.dec(c.eax); }},
    {"neg", Told::none, [](Code& c, int) { c.neg(c.rax); }},
    {"not", Told::none, [](Code& c, int) { c.not_(c.rax); }},
    {"not 32", Told::none, [](Code& c, int) { c.not_(c.eax); }},
    {"shl", Told::none, [](Code& c, int imm) { c.shl(c.rax, imm % 63 + 1); }},
    {"shr", Told::none, [](Code& c, int imm) { c.shr(c.rax, imm % 63 + 1); }},
    {"sar", Told::none, [](Code& c, int imm) { c.sar(c.eax, imm % 31 + 1); }},
    {"movsx 8", Told::none, [](Code& c, int) { c.movsx(c.rax, c.cl); }},
    {"movsx 16", Told::none, [](Code& c, int) { c.movsx(c.eax, c.cx); }},
    {"movsxd", Told::none, [](Code& c, int) { c.movsxd(c.rax, c.ecx); }},
    {"cwde", Told::none, [](Code& c, int) { c.cwde(); }},
    {"cdqe", Told::none, [](Code& c, int) { c.cdqe(); }},
    {"lea", Told::none, [](Code& c, int imm) { c.lea(c.rax, c.ptr[c.rax + c.rcx * 4 + imm]); }},
    {"lea 32", Told::none, [](Code& c, int imm) { c.lea(c.eax, c.ptr[c.rcx + c.rax - imm]); }},
    {"lea scaled", Told::none, [](Code& c, int imm) { c.lea(c.rax, c.ptr[c.rcx * 8 + imm]); }},
    {"movzx", Told::none, [](Code& c, int) { c.movzx(c.eax, c.cl); }},
    {"and", Told::of_zero, [](Code& c, int) { c.and_(c.rax, c.rcx); }},
    {"andn", Told::of_zero, [](Code& c, int) { c.andn(c.rax, c.rcx, c.rax); }},
    {"or 32", Told::of_zero, [](Code& c, int) { c.or_(c.eax, c.ecx); }},
    {"xor", Told::of_zero, [](Code& c, int) { c.xor_(c.rax, c.rcx); }},
    {"test", Told::of_zero, [](Code& c, int) { c.test(c.rax, c.rcx); }},
    {"test self", Told::of_zero, [](Code& c, int) { c.test(c.rax, c.rax); }},
    {"test imm", Told::of_zero, [](Code& c, int imm) { c.test(c.al, imm); }},
    {"cmp", Told::of_comparison, [](Code& c, int) { c.cmp(c.rax, c.rcx); }},
    {"cmp 32", Told::of_comparison, [](Code& c, int) { c.cmp(c.eax, c.ecx); }},
    {"cmp 8", Told::of_comparison, [](Code& c, int) { c.cmp(c.al, c.cl); }},
    {"cmp imm", Told::of_comparison, [](Code& c, int imm) { c.cmp(c.rax, imm - 128); }},
    {"vucomiss", Told::of_floats, [](Code& c, int) { c.vucomiss(c.xmm0, c.xmm1); }},
    {"vcomiss", Told::of_floats, [](Code& c, int) { c.vcomiss(c.xmm0, c.ptr[c.rdi + 8]); }},
    {"vucomisd", Told::of_floats, [](Code& c, int) { c.vucomisd(c.xmm0, c.xmm1); }},
    {"vcomisd", Told::of_floats, [](Code& c, int) { c.vcomisd(c.xmm0, c.xmm1); }},
};

TEST(X86Words, DoTheSameToData) {
  const Xbyak::Xmm x0(0), x1(1);
  std::mt19937_64 random(3);
  for (const DataCase& one : cases_of_data)
    for (int run = 0; run < cases / 250; ++run) {
      Code code;
      code.mov(code.rax, code.ptr[code.rdi]);
      code.mov(code.rcx, code.ptr[code.rdi + 8]);
      code.vmovq(x0, code.ptr[code.rdi]);
      code.vmovq(x1, code.ptr[code.rdi + 8]);
      one.emit(code, static_cast<int>(random() % 256));
      code.mov(code.ptr[code.rdi + 16], code.rax);
      tell_conditions_of_data(code, one.told);
      code.ret();
      constexpr ir::DType drawn_as[] = {ir::DType::i64, ir::DType::i32, ir::DType::f32, ir::DType::f64};
      const Execution<HiddenNumbers> numbers(code);
      for (size_t repeat = 0; repeat < 250; ++repeat) {
        Data mine = drawn(drawn_as[repeat % 4], random), of_processor = mine;
        numbers.run(mine, HiddenNumbers::hidden);
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
      {"an instruction that has no row", [](Code& c) { c.vpsadbw(c.ymm0, c.ymm1, c.ymm2); }},
      {"an instruction that has no row", [](Code& c) { c.bswap(c.rax); }},
      {"an instruction that has no row", [](Code& c) { c.vpsadbw(Zmm(0), Zmm(1), c.ptr[c.rdi]); }},
      {"it needs FXSAVE, which avx512 does not promise", [](Code& c) { c.fxrstor(c.ptr[c.rdi]); }},
      {"an access outside all buffers", [](Code& c) { c.vmovups(c.ymm0, c.ptr[c.rdi + bytes - 16]); }},
      {"an address that need not be aligned as the instruction wants",
       [](Code& c) { c.vmovaps(c.ymm0, c.ptr[c.rdi + 16]); }},
      {"an address of 32 bits", [](Code& c) { c.vmovups(c.ymm0, c.ptr[c.edi]); }},
      {"an access outside all buffers", [](Code& c) { c.mov(c.rax, c.ptr[c.rdi - 1]); }},
  };
  for (const auto& one : all) {
    Code code;
    one.emit(code);
    code.ret();
    Data data = {};
    try {
      execute(Execution<NumberDomain>(code), data);
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
  EXPECT_THROW(execute(Execution<NumberDomain>(code), data), TooManySteps);
}

}  // namespace
}  // namespace pooljit::jit::x86
