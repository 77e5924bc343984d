// The bytes of kernels are executed in the symbolic domain and read: each output takes exactly its window,
// for every input, without a run of the code.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>

#include "frontend/pool_spec.h"
#include "ir/choose/enumerate.h"
#include "ir/passes/pipeline.h"
#include "ir/schedule.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "proof/bytes/prove_bytes.h"
#include "proof/program/prove.h"
#include "tests/matrix/specs.h"

namespace pooljit {
namespace {

constexpr int64_t most_batches = 2;

ir::Result<jit::x86::BytesProof> prove_bytes(const jit::CodeBlob& blob, const ir::Program& program,
                                             const ir::PoolNest& nest, int64_t batch) {
  const jit::x86::KernelCode kernel{
      &blob, program.params, program.tasks, &program.tables, program.scratch_bytes, 1, 0, {&nest, 1}};
  return jit::x86::prove_bytes(kernel, nest, batch, program.isa);
}

// A build may be without it, and without its name.
constexpr std::string_view by_llvm = "llvm";

class KernelBytes : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Block, KernelBytes, testing::Range<size_t>(0, tests::symbolic_blocks));

// What the Program of the same kernel is proved for, the bytes are too, but for some. Nothing is run, so that
// every machine can read code for AVX-512.
void read_kernels(size_t block, const jit::BackendInfo& backend, double least_share) {
  const bool is_llvm = backend.text == by_llvm;
  const std::vector<tests::MatrixSpec> matrix = tests::matrix(tests::symbolic_specs);
  int64_t elements = 0, kernels = 0, programs = 0, number = 0;
  std::map<std::string, int64_t> unread;  // kernels by why
  for (size_t i = block; i < matrix.size(); i += tests::symbolic_blocks) {
    const frontend::PoolSpec& spec = matrix[i].spec;
    if (tests::output_count(spec) == 0) continue;
    const ir::Isa isa = number++ % 2 == 0 ? ir::Isa::avx2 : ir::Isa::avx512;
    const ir::PoolNest nest = make_nest(spec);
    const std::vector<ir::Schedule> schedules = enumerate_schedules(nest, isa);
    const auto affine = ir::lower(nest, schedules[i % schedules.size()], isa);
    const auto legal = affine ? ir::legalize(*affine) : affine;
    ASSERT_TRUE(legal) << print(spec) << "\n" << ir::to_string(legal.error());
    const ir::Program& consumed = is_llvm ? *affine : *legal;
    const auto blob = jit::emit(backend.id, consumed);
    if (!blob) continue;  // not enough registers
    const int64_t batch = std::min(spec.batch.value_or(1), most_batches);
    // Ties that go away from zero are read in the Program (docs/proof.md); their bytes must not be read as
    // wrong.
    const bool counts = spec.rounding == ir::RoundingRule::half_even;
    programs += counts && ir::prove(*legal, nest, batch).has_value();
    const auto proof = prove_bytes(*blob, consumed, nest, batch);
    if (proof) {
      kernels += counts, elements += proof->outputs;
      continue;
    }
    // An access that no element owns, a wrong window: no kernel has one; nor an instruction without a row,
    // but for some by LLVM.
    EXPECT_NE(proof.error().id, "prove.wrong") << print(spec) << "\n" << ir::to_string(proof.error());
    if (!is_llvm) {
      EXPECT_NE(proof.error().id, "prove.code") << print(spec) << "\n" << ir::to_string(proof.error());
    }
    const std::string& why = proof.error().message;  // behind the place, if it names one
    ++unread[why.substr(why.find("]: ") == std::string::npos ? 0 : why.find("]: ") + 3)];
  }
  fmt::print("the bytes of {} kernels proved, {} elements; {} Programs of them\n", kernels, elements,
             programs);
  for (const auto& [why, count] : unread) fmt::print("{:6} not read: {}\n", count, why);
  EXPECT_GT(double(kernels), double(programs) * least_share);
}

// Null: it is not there.
const jit::BackendInfo* named(std::string_view text) {
  const auto all = jit::backends();
  const auto found = std::ranges::find(all, text, &jit::BackendInfo::text);
  return found != all.end() && jit::find(found->id) ? &*found : nullptr;
}

TEST_P(KernelBytes, EachOutputTakesItsWindow) { read_kernels(GetParam(), *named("xbyak"), 0.85); }

TEST_P(KernelBytes, EachOutputTakesItsWindowByLlvm) {
  const jit::BackendInfo* const llvm = named(by_llvm);
  if (!llvm) GTEST_SKIP() << "this build has no LLVM";
  // All together 0.38; which layers a block draws makes it 0.28 to 0.53.
  read_kernels(GetParam(), *llvm, 0.25);
}

// --- bytes that are wrong are not read as right

struct Wrong {
  const char* name;
  std::vector<uint8_t> from, to;  // the only such bytes of the code are replaced
  const char* sentence;
};

const Wrong wrong_bytes[] = {
    {"vmaxps ymm1,ymm0,[rcx] is a vminps",
     {0xc5, 0xfc, 0x5f, 0x09},
     {0xc5, 0xfc, 0x5d, 0x09},
     "none of a maximum's"},
    {"vmovups ymm0,[rcx+0x20] takes +0x40",
     {0xc5, 0xfc, 0x10, 0x41, 0x20},
     {0xc5, 0xfc, 0x10, 0x41, 0x40},
     "it is made of the elements"},
    {"vcmpps ymm2,ymm0,ymm0 asks for eq, not un",
     {0xc5, 0xfc, 0xc2, 0xd0, 0x03},
     {0xc5, 0xfc, 0xc2, 0xd0, 0x00},
     "none of a maximum's"},
    {"add rcx,0x60 adds 0x40",
     {0x48, 0x83, 0xc1, 0x60},
     {0x48, 0x83, 0xc1, 0x40},
     "it is made of the elements"},
    {"add rcx,0x60 adds 0x7f", {0x48, 0x83, 0xc1, 0x60}, {0x48, 0x83, 0xc1, 0x7f}, "outside all buffers"},
    {"add rsi,0x20 adds 0x10", {0x48, 0x83, 0xc6, 0x20}, {0x48, 0x83, 0xc6, 0x10}, "nothing was stored"},
    {"dec r8 is an inc", {0x49, 0xff, 0xc8}, {0x49, 0xff, 0xc0}, "outside all buffers"},
    {"vmovups [rsi],ymm0 stores 16 bytes",
     {0xc5, 0xfc, 0x11, 0x06},
     {0xc5, 0xf8, 0x11, 0x06},
     "nothing was stored"},
    // Right in the first batch.
    {"add r9,0x500 adds 0x4e0",
     {0x49, 0x81, 0xc1, 0x00, 0x05},
     {0x49, 0x81, 0xc1, 0xe0, 0x04},
     "at n=1 c=0 [0]: it is made of the elements"},
    // Right where the tasks begin with the first.
    {"imul rcx,rdx,3 takes 2", {0x48, 0x6b, 0xca, 0x03}, {0x48, 0x6b, 0xca, 0x02}, "a part of the tasks"},
    {"imul rsi,rdx,0x20 takes 0x10",
     {0x48, 0x6b, 0xf2, 0x20},
     {0x48, 0x6b, 0xf2, 0x10},
     "a part of the tasks"},
    {"vmaxps ymm1,ymm0,[rcx] takes ymm9",
     {0xc5, 0xfc, 0x5f, 0x09},
     {0xc5, 0xb4, 0x5f, 0x09},
     "a register that nothing was written to"},
};

// What a caller leaves there is often 0.
const Wrong wrong_bytes_of_keys[] = {
    {"vpxor xmm5,xmm5,xmm5 is a nop",
     {0xc5, 0xd1, 0xef, 0xed},
     {0x0f, 0x1f, 0x40, 0x00},
     "a register that nothing was written to"},
};

void refuse(const char* text, std::span<const Wrong> all) {
  const auto spec = frontend::parse_spec(text);
  const ir::PoolNest nest = make_nest(*spec);
  const auto schedule =
      ir::parse_schedule("channels_last(lanes=8, scan=windows, tap_code=straight, tail=split)");
  const auto legal = ir::lower(nest, *schedule, ir::Isa::avx2).and_then(ir::legalize);
  ASSERT_TRUE(legal) << ir::to_string(legal.error());
  const auto blob = jit::emit(jit::BackendId::xbyak, *legal);
  ASSERT_TRUE(blob);
  ASSERT_TRUE(prove_bytes(*blob, *legal, nest, most_batches));
  for (const Wrong& wrong : all) {
    std::vector<uint8_t> image(blob->image.begin(), blob->image.end());
    jit::CodeBlob changed = *blob;
    changed.image = image;
    changed.code =
        changed.image.subspan(static_cast<size_t>(blob->code.data() - blob->image.data()), blob->code.size());
    changed.entry = reinterpret_cast<jit::KernelFunction>(
        image.data() + (reinterpret_cast<const uint8_t*>(blob->entry) - blob->image.data()));
    const auto find_from = [&](auto begin) {
      return std::search(begin, image.end(), wrong.from.begin(), wrong.from.end());
    };
    const auto found = find_from(image.begin());
    ASSERT_TRUE(found != image.end()) << wrong.name;
    EXPECT_TRUE(find_from(found + 1) == image.end()) << wrong.name;
    std::ranges::copy(wrong.to, found);
    const auto proof = prove_bytes(changed, *legal, nest, most_batches);
    ASSERT_FALSE(proof) << wrong.name;
    EXPECT_NE(proof.error().message.find(wrong.sentence), std::string::npos)
        << wrong.name << ": " << proof.error().message;
  }
}

TEST(CodeProof, RefusesWrongBytes) {
  refuse("max_pool1d(float32[1,8,40]:nhwc, kernel_size=3)", wrong_bytes);
  refuse("max_pool1d(bfloat16[1,8,40]:nhwc, kernel_size=3)", wrong_bytes_of_keys);
}

}  // namespace
}  // namespace pooljit
