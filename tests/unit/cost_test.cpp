// The cost model: it counts what the interpreter would execute, and prefers what does less.
#include "ir/cost.h"

#include <gtest/gtest.h>

#include "frontend/pool_spec.h"
#include "ir/choose/enumerate.h"
#include "ir/schedule_text.h"
#include "ir/text.h"
#include "lab/schedules/candidates.h"
#include "runtime/machine.h"

namespace pooljit::ir {
namespace {

// A legal Program around `body`, with a table of rows (how often an inner loop runs).
Program program(const std::string& body) {
  const auto parsed = parse_program(R"(program "test" legal avx512 {
  params input, output, table 0, count 0
  tasks o0=5
  table 0 = [3, 4, 5]
  %0 = param input : ptr
  %1 = param output : ptr
  %2 = param table 0 : ptr
  %3 = param count 0 : index
)" + body + "  ret\n}\n");
  EXPECT_TRUE(parsed) << to_string(parsed.error());
  return *parsed;
}

OpCounts counts(const Program& program) { return count_ops(program, costs_of("generic", program.isa)); }

TEST(Cost, LoopsMultiplyWhatIsInThem) {
  const OpCounts found = counts(program(R"(  %4 = iconst 7 : index
  %5 = loop %3 : index
    %6 = loop %4 : index
      %7 = load [%0] : f32x16
      %8 = load [%0 + 64] : f32x16
      %9 = max %7, %8 : f32x16
      store [%1], %9
    end
  end
)"));
  EXPECT_EQ(found.loads, 5 * 7 * 2);
  EXPECT_EQ(found.stores, 5 * 7);
  EXPECT_EQ(found.instructions, 1 + 5 * (1 + 1) + 5 * 7 * (4 + 1));  // a branch per turn, and one to come in
}

TEST(Cost, TripsFromATableAreReadTurnByTurn) {
  const OpCounts found = counts(program(R"(  %4 = iconst 3 : index
  %5, %6 = loop %4 (%2) : index, ptr
    %7 = iload [%6] : index
    %8 = loop %7 : index
      %9 = load [%0] : f32x16
      store [%1], %9
    end
    %10 = ptradd [%6 + 8] : ptr
  %11 = end (%10) : ptr
  %12 = iload [%11 - 8] : index
  %13 = loop %12 : index
    %14 = load [%0] : f32x16
    store [%1], %14
  end
)"));
  EXPECT_EQ(found.loads, 3 + 4 + 5 + 5);
}

TEST(Cost, AChainIsWaitedForInLongLoopsOnly) {
  const auto stalls = [](int trip) {
    return counts(program("  %4 = iconst " + std::to_string(trip) + R"( : index
  %5 = vconst splat(0) : f32x16
  %6, %7 = loop %4 (%5) : index, f32x16
    %8 = load [%0] : f32x16
    %9 = add %7, %8 : f32x16
  %10 = end (%9) : f32x16
  store [%1], %10
)"))
        .stalls;
  };
  EXPECT_EQ(stalls(4), 0);
  EXPECT_GT(stalls(1000), 1000);
}

runtime::Candidates candidates(const char* spec, int64_t batch = 1) {
  return *runtime::find_candidates(frontend::make_nest(*frontend::parse_spec(spec)), Isa::avx512, batch, {});
}

TEST(Cost, IsTheSameEachTimeAndInOrder) {
  const char* spec = "max_pool2d(float32[1,64,28,28], kernel_size=3, stride=2, padding=1)";
  const runtime::Candidates first = candidates(spec), second = candidates(spec);
  ASSERT_EQ(first.legal.size(), second.legal.size());
  int defaults = 0;
  for (size_t i = 0; i < first.legal.size(); ++i) {
    EXPECT_EQ(first.legal[i].schedule, second.legal[i].schedule);
    EXPECT_EQ(first.legal[i].cost.seconds, second.legal[i].cost.seconds);
    if (i > 0) {
      EXPECT_LE(first.legal[i - 1].cost.seconds, first.legal[i].cost.seconds);
    }
    defaults += first.legal[i].is_default ? 1 : 0;
  }
  EXPECT_EQ(defaults, 1);
}

TEST(Cost, VectorsBeatScalars) {
  const runtime::Candidates found = candidates("max_pool2d(float32[1,64,28,28]:nhwc, kernel_size=3)");
  EXPECT_EQ(found.legal.front().schedule.lanes, 16);
  EXPECT_EQ(found.legal.back().schedule.lanes, 1);
  EXPECT_GT(found.legal.back().cost.counts.loads, 10 * found.legal.front().cost.counts.loads);
}

TEST(Cost, EachOfferedScheduleIsACandidateOrMakesTheSameProgram) {
  const PoolNest nest =
      frontend::make_nest(*frontend::parse_spec("avg_pool2d(uint8[1,20,9,9], kernel_size=3, padding=1)"));
  const runtime::Candidates found = *runtime::find_candidates(nest, Isa::avx2, 1, {});
  size_t offered = 0;
  for (const auto& candidate : found.legal) offered += candidate.is_offered ? 1 : 0;
  EXPECT_GT(offered, 0U);
  EXPECT_LE(offered, enumerate_schedules(nest, Isa::avx2).size());
  EXPECT_FALSE(found.illegal.empty());
  for (const runtime::Refusal& refusal : found.illegal) EXPECT_FALSE(refusal.error.message.empty());
}

// What is offered first needs 18 of 16 registers: channels_first does not claim its registers.
TEST(Cost, TheDefaultIsTheFirstThatRegistersSufficeFor) {
  const PoolNest nest = frontend::make_nest(*frontend::parse_spec(
      "prod_pool1d(int16[2,327], kernel_size=9, stride=17, padding=4, ceil_mode=plain, output_dtype=uint8)"));
  const auto found = runtime::find_candidates(nest, Isa::avx2, 1, {});
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(found->illegal.front().schedule, enumerate_schedules(nest, Isa::avx2, 1).front());
  EXPECT_EQ(found->illegal.front().error.id, "schedule.registers");
  EXPECT_EQ(std::ranges::count_if(found->legal, &runtime::Candidate::is_default), 1);
}

// Each candidate is among them, and each of them is a candidate, makes the Program of one, or lacks
// registers.
TEST(Cost, LegalSchedulesAreFoundWithoutLowering) {
  for (const char* spec : {"max_pool2d(float32[1,16,14,14], kernel_size=3, stride=2, padding=1)",
                           "avg_pool2d(uint8[1,20,9,9]:nhwc, kernel_size=3, padding=1)",
                           "max_pool1d(float16[1,3,100], kernel_size=5, stride=2, return_indices=True)",
                           "adaptive_avg_pool2d(bfloat16[1,9,10,10], output_size=3)",
                           "avg_pool3d(bfloat16[1,128,9,9,9]:nhwc, kernel_size=2, stride=1)",
                           "max_pool2d_backward(float32[1,8,9,9], kernel_size=3, stride=2)"})
    for (const IsaInfo& isa : isa_table) {
      const PoolNest nest = frontend::make_nest(*frontend::parse_spec(spec));
      const auto legal = runtime::find_legal(nest, isa.isa, {});
      const auto found = runtime::find_candidates(nest, isa.isa, 1, {});
      ASSERT_TRUE(legal && found) << spec;
      const auto is_legal = [&](const Schedule& one) {
        return std::ranges::find(legal->schedules, one) != legal->schedules.end();
      };
      for (const runtime::Candidate& one : found->legal) {
        EXPECT_TRUE(is_legal(one.schedule)) << spec << " " << print(one.schedule);
        EXPECT_EQ(one.is_default, one.schedule == legal->schedules[legal->standard]) << spec;
      }
      for (const runtime::Refusal& refusal : found->illegal)
        EXPECT_TRUE(!is_legal(refusal.schedule) || refusal.error.id == "schedule.registers")
            << spec << " " << print(refusal.schedule) << ": " << to_string(refusal.error);
    }
}

TEST(Cost, TheFootprintDecidesTheCacheLevel) {
  const Caches caches{.bytes = {1 << 10, 1 << 14, 1 << 20}};
  const auto level = [&](const char* spec, int64_t batch) {
    return runtime::find_candidates(frontend::make_nest(*frontend::parse_spec(spec)), Isa::avx2, batch,
                                    {.caches = caches})
        ->legal.front()
        .cost.level;
  };
  const char* small = "max_pool2d(float32[1,1,8,8], kernel_size=2)";  // 320 bytes
  EXPECT_EQ(level(small, 1), 1);
  EXPECT_EQ(level(small, 4), 2);
  EXPECT_EQ(level(small, 100), 3);
  EXPECT_EQ(level(small, 10000), 4);
}

TEST(Machine, SaysWhoItIs) {
  EXPECT_NE(runtime::machine().cpu.find(" ("), std::string::npos) << runtime::machine().cpu;
  EXPECT_EQ(runtime::machine().cpu.find('\t'), std::string::npos);
  EXPECT_EQ(runtime::print(Caches{}), "32K 1024K 32768K");
}

}  // namespace
}  // namespace pooljit::ir
