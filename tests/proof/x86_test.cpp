// The table proof/bytes/instructions.def beside the processor: each instruction with registers, memory and
// write masks, random and special lanes, and many immediates.
#include <gtest/gtest.h>

#include <iostream>

#include "proof/x86_code.h"
#include "runtime/cpu_features.h"

namespace pooljit::jit::x86 {
namespace {

// All ways to call the assembler's function of a mnemonic that this test knows, each by its number; false:
// there is no such way, or the instruction has no such form.
#define TRY(number, ...)                     \
  if constexpr (requires { __VA_ARGS__; }) { \
    if (way == number) {                     \
      __VA_ARGS__;                           \
      return true;                           \
    }                                        \
  }

enum class Masking { none, merging, zeroing };

struct Assembled {
  std::string_view name;
  bool (*emit)(Code& code, int way, int imm);
  bool (*emit_wide)(Code& code, int way, int imm, Masking masking);
};

using Xbyak::Xmm, Xbyak::Ymm, Xbyak::Zmm, Xbyak::Opmask;
const Zmm z0(0), z1(1), z2(2), z3(3);
const Ymm y0(0), y1(1), y2(2), y3(3);
const Xmm x0(0), x1(1), x3(3);
const Opmask k1(1), k2(2), k3(3);

template <class To>
To written(const To& to, Masking masking) {
  return masking == Masking::none ? to : masking == Masking::merging ? to | k1 : to | k1 | Xbyak::util::T_z;
}

#define X86(mnemonic, form, op, type, from)                                          \
  {#mnemonic,                                                                        \
   [](Code& code, int way, int imm) {                                                \
     return []<class C>(C& c, int way, [[maybe_unused]] int imm) {                   \
       TRY(0, c.mnemonic(y3, y0, y1))                                                \
       TRY(1, c.mnemonic(y3, y0, y1, imm))                                           \
       TRY(2, c.mnemonic(y3, y0, y1, y2))                                            \
       TRY(3, c.mnemonic(y3, y0))                                                    \
       TRY(4, c.mnemonic(y3, x0))                                                    \
       TRY(5, c.mnemonic(x3, y0))                                                    \
       TRY(6, c.mnemonic(y3, y0, imm))                                               \
       TRY(7, c.mnemonic(x3, y0, imm))                                               \
       TRY(8, c.mnemonic(y3, y0, x1, imm))                                           \
       TRY(9, c.mnemonic(x3, x0, x1))                                                \
       TRY(10, c.mnemonic(x3, x0, x1, imm))                                          \
       TRY(11, c.mnemonic(x3, x0, imm))                                              \
       TRY(12, c.mnemonic(x3, x0))                                                   \
       TRY(13, c.mnemonic(c.ptr[c.rdi + 96], y0, y1))                                \
       TRY(14, c.mnemonic(y3, y0, c.ptr[c.rdi + 32]))                                \
       TRY(15, c.mnemonic(c.ptr[c.rdi + 96], y0))                                    \
       TRY(16, c.mnemonic(y3, c.ptr[c.rdi]))                                         \
       TRY(17, c.mnemonic(c.ptr[c.rdi + 96], x0))                                    \
       TRY(18, c.mnemonic(x3, c.ptr[c.rdi]))                                         \
       TRY(19, c.mnemonic(c.ptr[c.rdi + 96], x0, imm))                               \
       TRY(20, c.mnemonic(x3, x0, c.ptr[c.rdi + 32], imm))                           \
       TRY(21, c.mnemonic(x3, x0, c.ptr[c.rdi + 32]))                                \
       TRY(22, c.mnemonic(x3, x0, c.rdx))                                            \
       TRY(23, c.mnemonic(x3, x0, c.edx))                                            \
       TRY(24, c.mnemonic(c.rdx, x0))                                                \
       TRY(25, c.mnemonic(c.edx, x0))                                                \
       return false;                                                                 \
     }(code, way, imm);                                                              \
   },                                                                                \
   [](Code& code, int way, int imm, Masking masking) {                               \
     return []<class C>(C& c, int way, [[maybe_unused]] int imm, Masking masking) {  \
       const Zmm z = written(z3, masking);                                           \
       const Ymm y = written(y3, masking);                                           \
       const Xmm x = written(x3, masking);                                           \
       /* Of masks and memory nothing becomes zeros. */                              \
       const Masking kept = masking == Masking::none ? masking : Masking::merging;   \
       const Opmask k = written(k3, kept);                                           \
       [[maybe_unused]] const Xbyak::Address to = written(c.ptr[c.rdi + 192], kept); \
       TRY(0, c.mnemonic(z, z0, z1))                                                 \
       TRY(1, c.mnemonic(z, z0, z1, imm))                                            \
       TRY(2, c.mnemonic(z, z0))                                                     \
       TRY(3, c.mnemonic(z, y0))                                                     \
       TRY(4, c.mnemonic(z, x0))                                                     \
       TRY(5, c.mnemonic(y, z0))                                                     \
       TRY(6, c.mnemonic(x, z0))                                                     \
       TRY(7, c.mnemonic(y, y0))                                                     \
       TRY(8, c.mnemonic(y, x0))                                                     \
       TRY(9, c.mnemonic(x, y0))                                                     \
       TRY(10, c.mnemonic(x, x0))                                                    \
       TRY(11, c.mnemonic(z, z0, imm))                                               \
       TRY(12, c.mnemonic(y, z0, imm))                                               \
       TRY(13, c.mnemonic(x, z0, imm))                                               \
       TRY(14, c.mnemonic(x, y0, imm))                                               \
       TRY(15, c.mnemonic(z, z0, y1, imm))                                           \
       TRY(16, c.mnemonic(z, z0, x1, imm))                                           \
       TRY(17, c.mnemonic(y, y0, x1, imm))                                           \
       TRY(18, c.mnemonic(y, y0, y1))                                                \
       TRY(19, c.mnemonic(x, x0, x1))                                                \
       TRY(20, c.mnemonic(y, y0, y1, imm))                                           \
       TRY(21, c.mnemonic(x, x0, x1, imm))                                           \
       TRY(22, c.mnemonic(y, y0, imm))                                               \
       TRY(23, c.mnemonic(k, z0, z1))                                                \
       TRY(24, c.mnemonic(k, z0, z1, imm))                                           \
       TRY(25, c.mnemonic(k, y0, y1, imm))                                           \
       TRY(26, c.mnemonic(z, c.ptr[c.rdi]))                                          \
       TRY(27, c.mnemonic(y, c.ptr[c.rdi]))                                          \
       TRY(28, c.mnemonic(x, c.ptr[c.rdi]))                                          \
       TRY(29, c.mnemonic(to, z0))                                                   \
       TRY(30, c.mnemonic(to, y0))                                                   \
       TRY(31, c.mnemonic(to, x0))                                                   \
       TRY(32, c.mnemonic(z, z0, c.ptr[c.rdi + 64]))                                 \
       TRY(33, c.mnemonic(z, z0, c.ptr_b[c.rdi + 64]))                               \
       TRY(34, c.mnemonic(y, y0, c.ptr_b[c.rdi + 64]))                               \
       TRY(35, c.mnemonic(z, c.ptr_b[c.rdi + 64]))                                   \
       TRY(36, c.mnemonic(k, z0, c.ptr_b[c.rdi + 64], imm))                          \
       TRY(37, c.mnemonic(to, z0, imm))                                              \
       TRY(38, c.mnemonic(z, z0, c.ptr[c.rdi + 64], imm))                            \
       TRY(39, c.mnemonic(k3, k1, k2))                                               \
       TRY(40, c.mnemonic(k3, k2))                                                   \
       TRY(41, c.mnemonic(k3, c.rdx))                                                \
       TRY(42, c.mnemonic(c.rdx, k2))                                                \
       TRY(43, c.mnemonic(k3, c.edx))                                                \
       TRY(44, c.mnemonic(c.edx, k2))                                                \
       TRY(45, c.mnemonic(z, c.edx))                                                 \
       TRY(46, c.mnemonic(z, c.rdx))                                                 \
       TRY(47, c.mnemonic(k3, k1, imm))                                              \
       TRY(48, c.mnemonic(k3, z0))                                                   \
       TRY(49, c.mnemonic(k3, y0))                                                   \
       TRY(50, c.mnemonic(z3, k2))                                                   \
       TRY(51, c.mnemonic(k3, x0, x1, imm))                                          \
       return false;                                                                 \
     }(code, way, imm, masking);                                                     \
   }},
constexpr int wide_ways = 52;
constexpr int ways = 26;
const Assembled assembled[] = {
#include "proof/bytes/instructions.def"
};
#undef X86
#undef TRY

bool is_nan(ir::DType dtype, const uint8_t* lane) {
  uint64_t bits = 0;
  std::memcpy(&bits, lane, static_cast<size_t>(ir::bytes(dtype)));
  return ir::is_nan_bits(dtype, bits);
}

// Which NaN arithmetic gives is not said.
bool same(const VectorRow& row, const Data& a, const Data& b) {
  const bool is_arithmetic = row.form == InstructionForm::unary || row.form == InstructionForm::binary ||
                             row.form == InstructionForm::scalar ||
                             row.form == InstructionForm::scalar_unary ||
                             row.form == InstructionForm::horizontal || row.op.op == ir::Op::fma;
  const bool may_differ =
      is_arithmetic && is_float(row.op.type) && row.op.op != ir::Op::max && row.op.op != ir::Op::min;
  const auto width = may_differ ? static_cast<size_t>(ir::bytes(row.op.type)) : size_t{1};
  for (size_t at = 0; at < bytes; at += width) {
    const bool equal = std::equal(a.memory.data() + at, a.memory.data() + at + width, b.memory.data() + at);
    if (!equal && !(may_differ && is_nan(row.op.type, a.memory.data() + at) &&
                    is_nan(row.op.type, b.memory.data() + at)))
      return false;
  }
  return true;
}

// The result's register begins with what lies at its place, so that what is kept of it shows.
bool assemble(Code& code, const Assembled& one, int way, int imm) {
  for (int v = 0; v < vectors; ++v) code.vmovups(Ymm(v), code.ptr[code.rdi + 32 * v]);
  code.mov(code.rdx, code.ptr[code.rdi + 128]);
  try {
    if (!one.emit(code, way, imm)) return false;
  } catch (const Xbyak::Error&) {
    return false;
  }
  const bool stores = way == 13 || way == 15 || way == 17 || way == 19;
  if (!stores) code.vmovups(code.ptr[code.rdi + 96], y3);
  code.mov(code.ptr[code.rdi + 136], code.rdx);
  code.vzeroupper();
  code.ret();
  return true;
}

// The same with vectors of 64 bytes and write masks, and masks as results.
bool assemble_wide(Code& code, const Assembled& one, int way, int imm, std::mt19937_64& random) {
  for (int v = 0; v < vectors; ++v) code.vmovups(Zmm(v), code.ptr[code.rdi + 64 * v]);
  for (int k = 1; k <= 3; ++k) {
    code.mov(code.rax, random());
    code.kmovq(Opmask(k), code.rax);
  }
  code.mov(code.rdx, random());
  // The table that has a row.
  if (one.name.starts_with("vfixupimm")) {
    code.mov(code.eax, 0x11);
    code.vpbroadcastd(z1, code.eax);
  }
  try {
    if (!one.emit_wide(code, way, imm, static_cast<Masking>(random() % 3))) return false;
  } catch (const Xbyak::Error&) {
    return false;
  }
  const bool stores = (way >= 29 && way <= 31) || way == 37;
  if (!stores) code.vmovups(code.ptr[code.rdi + 192], z3);
  code.kmovq(code.rax, k3);
  code.add(code.rax, code.rdx);
  code.mov(code.ptr[code.rdi + 256], code.rax);
  code.vzeroupper();
  code.ret();
  return true;
}

// Some forms that the assembler makes are of another instruction set, or of no processor: kernels have none
// of them.
bool is_promised(const Code& code, ir::Isa isa) {
  CodeBlob blob = code.blob();
  blob.isa = isa;
  try {
    const DecodedCode decoded(blob);
    return true;
  } catch (const Refused&) {
    return false;
  }
}

// Of instructions that have a row. (The assembler gives write masks also to what takes none.)
constexpr std::string_view no_kernel_has[] = {"a comparison that has no row",
                                              "another rounding",
                                              "a count or a choice that is no immediate",
                                              "bits of three operands",
                                              "this is no instruction",
                                              "a scalar that is masked",
                                              "bytes that change places in a way that has no row",
                                              "a table of responses that has no row"};

// Code of one instruction over numbers and by the processor, with data after data; gives how many lanes.
int compare_with_processor(const Assembled& one, const Code& code, int way, std::mt19937_64& random) {
  const VectorRow& row = rows()[static_cast<size_t>(&one - assembled)];
  int lanes = 0;
  try {
    const Execution<NumberDomain> numbers(code);
    for (int repeat = 0; repeat < 100; ++repeat) {
      Data mine = drawn(repeat % 2 == 0 ? row.op.from : row.op.type, random), of_processor = mine;
      execute(numbers, mine);
      code.getCode<void (*)(void*)>()(of_processor.memory.data());
      const bool is_same = same(row, mine, of_processor);
      EXPECT_TRUE(is_same) << one.name << " way " << way;
      if (!is_same) break;
      lanes += 32 / ir::bytes(row.op.type);
    }
  } catch (const Refused& refused) {
    EXPECT_TRUE(std::ranges::count(no_kernel_has, refused.why) == 1) << one.name << ": " << refused.why;
  }
  return lanes;
}

TEST(X86Table, DoesWhatTheProcessorDoes) {
  const bool has_avx2 = runtime::can_run(ir::Isa::avx2), has_avx512 = runtime::can_run(ir::Isa::avx512);
  std::mt19937_64 random(1);
  std::string untried;
  for (const Assembled& one : assembled) {
    const VectorRow& row = rows()[static_cast<size_t>(&one - assembled)];
    ASSERT_NE(row.mnemonic, ZYDIS_MNEMONIC_INVALID) << one.name;
    int narrow = 0, wide = 0;
    for (int round = 0; (narrow < cases || wide < cases) && (round < 64 || narrow + wide > 0) && round < 4000;
         ++round) {
      const auto imm = static_cast<int>(random() % 256);
      for (int way = 0; has_avx2 && way < ways && narrow < cases; ++way) {
        Code code;
        if (assemble(code, one, way, imm) && is_promised(code, ir::Isa::avx2))
          narrow += compare_with_processor(one, code, way, random);
      }
      for (int way = 0; has_avx512 && way < wide_ways && wide < cases; ++way) {
        Code code;
        if (assemble_wide(code, one, way, imm, random) && is_promised(code, ir::Isa::avx512))
          wide += compare_with_processor(one, code, 100 + way, random);
      }
      if (testing::Test::HasFailure()) return;
      if (round > 64 && (narrow == 0 || narrow >= cases) && (wide == 0 || wide >= cases)) break;
    }
    if (narrow > 0 || wide > 0 || has_avx512) {
      EXPECT_TRUE(narrow >= cases || wide >= cases) << one.name << " was hardly tried";
      EXPECT_TRUE(narrow == 0 || narrow >= cases) << one.name << " was hardly tried";
      EXPECT_TRUE(wide == 0 || wide >= cases) << one.name << " was hardly tried";
    } else {
      untried += std::string(untried.empty() ? "" : " ") + std::string(one.name);
    }
  }
  if (!untried.empty())
    std::cout << "not tried, as this processor has no " << (has_avx2 ? "avx512" : "avx2") << ": " << untried
              << "\n";
}

}  // namespace
}  // namespace pooljit::jit::x86
