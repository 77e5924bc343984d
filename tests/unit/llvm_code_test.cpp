// The LLVM back end's code as such: its instructions, protection and life time, lines, threads, errors.
#include <Zydis/Zydis.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/SourceMgr.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <numeric>
#include <span>
#include <sstream>
#include <string>
#include <thread>

#include "jit/llvm/fatal_errors.h"
#include "jit/llvm/link.h"
#include "jit/llvm/llvm_backend.h"
#include "jit/llvm/target.h"
#include "tests/all_isas.h"
#include "tests/unit/llvm_kernels.h"

namespace pooljit::jit {
namespace {

using ir::Builder;
using ir::DType;
using ir::Isa;
using ir::Op;
using ir::Param;
using ir::Type;
using ir::Value;

using LlvmCode = LlvmTest;

// Decodes all of the code; `visit` sees each instruction.
template <typename Visit>
void for_each_instruction(const CodeBlob& blob, const Visit& visit) {
  ZydisDisassembledInstruction instruction;
  for (size_t offset = 0; offset < blob.code.size(); offset += instruction.info.length) {
    ASSERT_TRUE(ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, offset, &blob.code[offset],
                                                   blob.code.size() - offset, &instruction)));
    visit(instruction);
  }
}

// Whether an instruction reads a whole vector of a tensor: constants lie relative to rip.
bool reads_all_lanes(const ZydisDisassembledInstruction& instruction, int vector_bits) {
  const ZydisDecodedInstruction& info = instruction.info;
  if (info.mnemonic == ZYDIS_MNEMONIC_VMASKMOVPS || info.mnemonic == ZYDIS_MNEMONIC_VPMASKMOVD) return false;
  const bool is_masked =
      info.avx.mask.mode != ZYDIS_MASK_MODE_INVALID && info.avx.mask.mode != ZYDIS_MASK_MODE_DISABLED;
  for (const ZydisDecodedOperand& operand : std::span(instruction.operands, info.operand_count_visible))
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
        (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0 && operand.mem.base != ZYDIS_REGISTER_RIP &&
        operand.size >= vector_bits && !is_masked)
      return true;
  return false;
}

// A view has gaps between its elements: LLVM may not read them even where the lanes at both ends are on.
TEST_P(LlvmCode, GapsOfConstantMasksAreNotRead) {
  const int lanes = this->lanes(DType::f32);
  const Type type = Type::vec(DType::f32, lanes);
  for (int step : {2, 3, lanes - 1}) {
    std::vector<int64_t> bits(static_cast<size_t>(lanes));
    for (int i = 0; i < lanes; ++i) bits[static_cast<size_t>(i)] = i % step == 0 || i == lanes - 1;
    Builder b = builder();
    const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
    const Value x = b.load(type, {in, {}, 0}, b.vmask(type.mask_of(), bits), b.vconst_splat(type, 0));
    b.store({out, {}, 0}, x);
    b.ret();
    const CodeBlob blob = must_emit(b.finish());
    for_each_instruction(blob, [&](const ZydisDisassembledInstruction& instruction) {
      EXPECT_FALSE(reads_all_lanes(instruction, lanes * 32)) << instruction.text;
    });
    std::vector<float> from(static_cast<size_t>(lanes)), to(from.size());
    std::iota(from.begin(), from.end(), 1.0F);
    call(blob, from.data(), to.data());
    for (size_t i = 0; i < to.size(); ++i) EXPECT_EQ(to[i], bits[i] != 0 ? from[i] : 0);
  }
}

TEST_P(LlvmCode, CodeStaysInsideTheIsaAndLeavesNoDirtyUpperHalves) {
  const CodeBlob blob = must_emit(counting_loop(GetParam(), lanes(DType::f32)));
  bool has_evex = false;
  std::string before_return, previous;
  for_each_instruction(blob, [&](const ZydisDisassembledInstruction& instruction) {
    has_evex |= instruction.info.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
    if (instruction.info.mnemonic == ZYDIS_MNEMONIC_RET) before_return = previous;
    previous = instruction.text;
  });
  EXPECT_EQ(has_evex, info(GetParam()).vector_registers > 16);
  EXPECT_EQ(before_return, "vzeroupper");
}

TEST_P(LlvmCode, AlignedNonTemporalStoresAreOneInstruction) {
  Builder b = builder();
  const Type type = Type::vec(DType::f32, lanes(DType::f32));
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  b.store({out, {}, 0}, b.load(type, {in, {}, 0}), ir::no_value, true);
  b.ret();
  int non_temporal = 0;
  for_each_instruction(must_emit(b.finish()), [&](const ZydisDisassembledInstruction& instruction) {
    non_temporal += instruction.info.mnemonic == ZYDIS_MNEMONIC_VMOVNTPS;
  });
  EXPECT_EQ(non_temporal, 1);
}

// --- memory, threads, lines

std::string protection_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    char protection[8] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, protection) != 3) continue;
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (begin <= at && at < end) return protection;
  }
  return "";
}

int writable_and_executable_mappings() {
  int count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) count += line.find(" rwx") != std::string::npos;
  return count;
}

TEST_P(LlvmCode, CodeIsNeverWritableAndExecutable) {
  std::atomic<bool> stop = false;
  std::atomic<int> bad = 0;
  std::thread watch([&] {
    while (!stop) bad += writable_and_executable_mappings();
  });
  for (int i = 0; i < 20; ++i) {
    const CodeBlob blob = must_emit(counting_loop(GetParam(), 8));
    EXPECT_EQ(protection_of(blob.code.data()), "r-xp");
  }
  stop = true;
  watch.join();
  EXPECT_EQ(bad, 0);
}

TEST_P(LlvmCode, TheLastCopyFreesTheCode) {
  CodeBlob first = must_emit(counting_loop(GetParam(), 8));
  const void* const code = first.code.data();
  CodeBlob second = first;
  first = {};
  EXPECT_EQ(protection_of(code), "r-xp");
  second = {};
  EXPECT_NE(protection_of(code), "r-xp");
}

TEST_P(LlvmCode, ManyThreadsCompileAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 4; ++round) {
        const auto blob = emit_llvm(counting_loop(GetParam(), 8));
        float in[8 * 3], out[8];
        std::fill_n(in, 24, static_cast<float>(t));
        const uint64_t args[] = {std::bit_cast<uint64_t>(&in[0]), std::bit_cast<uint64_t>(&out[0]), 3};
        if (blob) blob->entry(args);
        good += blob && out[7] == 0.5f + 3 * static_cast<float>(t);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 32);
}

TEST_P(LlvmCode, LinesPointIntoTheCode) {
  const ir::Program program = counting_loop(GetParam(), 8);
  const CodeBlob blob = must_emit(program);
  EXPECT_GE(blob.bytes, blob.code.size());
  ASSERT_FALSE(blob.lines.empty());
  std::vector<bool> seen(program.insts.size());
  for (size_t i = 0; i < blob.lines.size(); ++i) {
    EXPECT_LT(blob.lines[i].offset, blob.code.size());
    if (i > 0) {
      EXPECT_GT(blob.lines[i].offset, blob.lines[i - 1].offset);
    }
    ASSERT_LT(blob.lines[i].inst, static_cast<int32_t>(program.insts.size()));
    if (blob.lines[i].inst >= 0) seen[static_cast<size_t>(blob.lines[i].inst)] = true;
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    const Op op = program.insts[i].op;
    EXPECT_TRUE(seen[i] || (op != Op::store && op != Op::ret)) << "inst " << i;
  }
}

TEST_P(LlvmCode, TextNamesTheProgramsValues) {
  const auto text = llvm_ir(counting_loop(GetParam(), 8));
  ASSERT_TRUE(text.has_value());
  EXPECT_NE(text->find("fadd <8 x float> %v"), std::string::npos) << *text;
  EXPECT_EQ(text->find("!dbg"), std::string::npos);
}

// The code generator compares what may run in any order: its time would grow with the square of a block.
TEST_P(LlvmCode, ManyAccessesInABlockKeepTheirOrder) {
  Builder b = builder();
  const Type type = Type::vec(DType::f32, 8);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  constexpr int count = 1000;
  Value sum = b.load(type, {in, {}, 0});
  for (int i = 1; i < count; ++i) {
    sum = b.binary(Op::add, sum, b.load(type, {in, {}, 32 * i}));
    if (i % 10 == 0) b.store({out, {}, 32 * i}, sum);
  }
  b.ret();
  const auto text = llvm_ir(b.finish());
  ASSERT_TRUE(text.has_value());
  std::istringstream lines(*text);
  int in_a_row = 0, most = 0, all = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("asm sideeffect") != std::string::npos)
      in_a_row = 0;
    else if (line.find("load <8") != std::string::npos || line.find("store <8") != std::string::npos)
      most = std::max(most, ++in_a_row), ++all;
  }
  EXPECT_GE(all, count);
  EXPECT_LE(most, 128);
}

// --- errors

TEST_P(LlvmCode, ALargeProgramIsRefused) {
  Builder b = builder();
  const Type type = Type::vec(DType::f32, 8);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  for (int i = 0; i < 20001; ++i) b.store({out, {}, 32 * i}, b.load(type, {in, {}, 32 * i}));
  b.ret();
  const auto blob = emit_llvm(b.finish());
  ASSERT_FALSE(blob.has_value());
  EXPECT_EQ(blob.error().id, "jit.llvm.size");
}

TEST_P(LlvmCode, AProgramWithoutAnEndIsRefused) {
  Builder b = builder();
  b.param(Param::Role::input);
  const auto blob = emit_llvm(b.finish());
  ASSERT_FALSE(blob.has_value());
  EXPECT_EQ(blob.error().id, "jit.llvm.program");
}

TEST_P(LlvmCode, CodeThatCallsOutIsRefused) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(
      "declare void @memset(ptr)\n"
      "define void @pooljit_kernel(ptr %p) {\n call void @memset(ptr %p)\n ret void\n}\n",
      diagnostic, context);
  ASSERT_NE(module, nullptr) << diagnostic.getMessage().str();
  llvm::TargetMachine& target = target_machine(GetParam());
  module->setDataLayout(target.createDataLayout());
  module->setTargetTriple(target.getTargetTriple().str());
  const auto object = emit_object(*module, target);
  ASSERT_TRUE(object.has_value());
  auto parsed = llvm::object::ObjectFile::createObjectFile((*object)->getMemBufferRef());
  ASSERT_TRUE(bool(parsed));
  const auto linked = link_object(**parsed);
  ASSERT_FALSE(linked.has_value());
  EXPECT_EQ(linked.error().id, "jit.llvm.codegen");
  EXPECT_NE(linked.error().message.find("memset"), std::string::npos) << linked.error().message;
}

// Left behind on purpose after a fatal error; still known here, so that a leak checker finds it.
struct LeftBehind {
  LeftBehind() { known = this; }
  static inline LeftBehind* known = nullptr;
};

TEST(LlvmFatalErrors, BecomeValues) {
  const auto result = with_fatal_errors_as_values<int, LeftBehind>(
      [](LeftBehind&) -> ir::Result<int> { llvm::report_fatal_error("cannot select"); });
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().id, "jit.llvm.fatal");
  EXPECT_EQ(result.error().message, "cannot select");
  EXPECT_NE(LeftBehind::known, nullptr);  // nobody else reads it: a compiler would not write it
}

INSTANTIATE_TEST_SUITE_P(Isas, LlvmCode, testing::ValuesIn(ir::all_isas),
                         [](const auto& info) { return std::string(ir::info(info.param).text); });

}  // namespace
}  // namespace pooljit::jit
