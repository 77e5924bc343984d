// Several pools of one tensor: how their schedules are said, made and chosen; joining and taking apart
// Programs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "c_words.h"
#include "frontend/pool_spec.h"
#include "ir/builder.h"
#include "ir/choose/enumerate.h"
#include "ir/member_steps.h"
#include "ir/members.h"
#include "ir/passes/pipeline.h"
#include "ir/schedule.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "jit/backend.h"
#include "pooljit.hpp"
#include "runtime/cpu_features.h"
#include "runtime/engines.h"
#include "tests/all_isas.h"

namespace pooljit {
namespace {

// Of compiling for AVX2; "" for none.
std::string refusal(const std::string& spec, const std::string& schedule) {
  try {
    (void)compile(spec, {.isa = "avx2", .schedule = schedule});
  } catch (const Error& error) {
    return error.id();
  }
  return "";
}

TEST(PoolsSchedules, SchedulesPrintAndParse) {
  const std::string text =
      "each(channels=4, rows=1)[channels_last(lanes=1, scan=windows, tap_code=straight, tail=mask); "
      "channels_first(lanes=8, scan=rolling, tap_code=straight, tail=split)]";
  const auto schedule = ir::parse_schedule(text);
  ASSERT_TRUE(schedule) << to_string(schedule.error());
  EXPECT_EQ(ir::print(*schedule), text);
  const std::string fused = "fused" + text.substr(4);
  const auto of_fused = ir::parse_schedule(fused);
  ASSERT_TRUE(of_fused) << to_string(of_fused.error());
  EXPECT_TRUE(of_fused->fused);
  EXPECT_EQ(ir::print(*of_fused), fused);
  for (const char* wrong :
       {"each", "each[]", "fused", "fuse(channels=4, rows=1)[x]", "each)[(channels=4, rows=1]",
        "fused(channels=4, rows=1)[]", "each(channels=4, rows=1)[]", "each(channels=0, rows=1)[x]",
        "each(channels=4)[channels_last(lanes=1)]", "each(channels=1, rows=1)[nothing(lanes=1)]",
        "each(channels=1, rows=1)[each(channels=1, rows=1)[channels_last(lanes=1)]]"}) {
    const auto parsed = ir::parse_schedule(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().id, "schedule.text") << wrong;
  }
  EXPECT_EQ(refusal("pools(float32[1,2,4,4], max_pool2d(2))", text), "schedule.members");
  EXPECT_EQ(refusal("max_pool2d(float32[1,2,4,4], 2)", text), "schedule.members");
}

// Windows of every extent, and paddings of either side: where there is a nest for the larger one, each of its
// windows is the union of the smaller's that it names.
TEST(PoolsSchedules, LargerWindowsAreUnionsOfSmallerOnes) {
  const auto nest = [](int64_t input, int64_t kernel, int64_t before, int64_t after) {
    ir::PoolNest made;
    made.dims = {{.input = input,
                  .output = input + before + after - kernel + 1,
                  .kernel = kernel,
                  .pad_begin = before,
                  .pad_end = after}};
    made.input.strides = made.output.strides = {1};
    return made;
  };
  int found = 0, apart = 0;
  const auto try_pair = [&](const ir::PoolNest& smaller, const ir::PoolNest& larger) {
    const auto made = ir::made_of(larger, smaller);
    if (!made) return;
    ++found;
    if (made->dims[0].dilation > 1) ++apart;
    for (int64_t o = 0; o < larger.dims[0].output; ++o) {
      std::vector<bool> wanted(9), is_seen(9);
      const auto mark = [](std::vector<bool>& seen, const ir::Window& window) {
        for (int64_t tap = 0; tap < window.taps; ++tap)
          seen[static_cast<size_t>(window.first + tap * window.step)] = true;
      };
      mark(wanted, larger.dims[0].window(o));
      const ir::Window of = made->dims[0].window(o);
      for (int64_t tap = 0; tap < of.taps; ++tap)
        mark(is_seen, smaller.dims[0].window(of.first + tap * of.step));
      ASSERT_EQ(is_seen, wanted) << larger.print() << " of " << smaller.print() << " at " << o;
    }
  };
  for (const int64_t input : {1, 2, 3, 5, 9})
    for (int64_t kernel = 1; kernel <= 6; ++kernel)
      for (int64_t pad = 0; pad < 25; ++pad) {
        const ir::PoolNest smaller = nest(input, kernel, pad / 5, pad % 5);
        if (smaller.dims[0].output < 1) continue;
        for (int64_t larger_kernel = 1; larger_kernel <= 13; ++larger_kernel)
          for (int64_t larger_pad = 0; larger_pad < 81; ++larger_pad) {
            const ir::PoolNest larger = nest(input, larger_kernel, larger_pad / 9, larger_pad % 9);
            if (larger.dims[0].output >= 1) try_pair(smaller, larger);
          }
      }
  EXPECT_GT(found, 3000);
  EXPECT_GT(apart, 300);
}

TEST(PoolsSchedules, OnlyWhatKeepsEveryBitIsMadeOfAnother) {
  const auto source_of_second = [](const std::string& members) {
    const Kernel kernel = compile("pools(float32[1,8,9,9], " + members + ")");
    return ir::parse_schedule(kernel.schedule())->members[1].from;
  };
  EXPECT_EQ(source_of_second("max_pool2d(5, 1, 2), max_pool2d(9, 1, 4)"), 0);
  EXPECT_EQ(source_of_second("max_pool2d(5, 1, 2), max_pool2d(5, 1, 2)"), 0);
  EXPECT_EQ(source_of_second("max_pool2d(5, 1, 2), max_pool2d(9, 1, 4, epilogue=[relu])"), 0);
  for (const char* alone :
       {"max_pool2d(5, 1, 2), min_pool2d(9, 1, 4)", "max_pool2d(5, 2, 2), max_pool2d(9, 2, 4)",
        "max_pool2d(5, 1, 2), max_pool2d(9, 1, 4, return_indices=True)",
        "max_pool2d(5, 1, 2, return_indices=True), max_pool2d(9, 1, 4)",
        "max_pool2d(5, 1, 2, epilogue=[relu]), max_pool2d(9, 1, 4)",
        "max_pool2d(5, 1, 2, nan=ignore), max_pool2d(9, 1, 4)",
        "max_pool2d(5, 1, 2), max_pool2d(9, 1, 4), avg_pool2d(3, 1, 1)",
        "max_pool2d(5, 1, 2), max_pool2d(9, 1, 8, dilation=2)", "max_pool2d(5, 1, 2), max_pool2d(6, 1, 1)"})
    EXPECT_EQ(source_of_second(alone), -1) << alone;
}

TEST(PoolsSchedules, WrongSourcesAreRefused) {
  const std::string family = "channels_first(lanes=1, scan=tap_by_tap, tap_code=straight, tail=mask";
  const std::string copy = " copies[" + family + ")]";
  const auto with = [&](const std::string& tasks, const std::string& first, const std::string& second,
                        const std::string& copies) {
    return refusal(
        "pools(float32[1,6,9,9], max_pool2d(3, 1, 1), max_pool2d(5, 1, 2))",
        "each(channels=" + tasks + ", rows=1)[" + family + first + "); " + family + second + ")]" + copies);
  };
  EXPECT_EQ(with("3", "", ", from=0", copy), "");
  EXPECT_EQ(with("1", "", ", from=0", copy), "");
  EXPECT_EQ(with("4", "", ", from=0", copy), "schedule.members");
  EXPECT_EQ(with("7", "", ", from=0", copy), "schedule.members");
  EXPECT_EQ(with("3", "", ", from=1", copy), "schedule.from");
  EXPECT_EQ(with("3", "", ", from=2", copy), "schedule.from");
  EXPECT_EQ(with("3", ", from=1", "", copy), "schedule.from");
  EXPECT_EQ(with("3", ", from=1", ", from=0", copy), "schedule.from");
  EXPECT_EQ(with("3", "", ", from=x", copy), "schedule.text");
  EXPECT_EQ(with("3", "", ", from=0", ""), "schedule.members");
  EXPECT_EQ(with("3", "", ", from=0", copy + "x"), "schedule.text");
  EXPECT_EQ(with("3", "", "", copy), "schedule.members");
  EXPECT_EQ(with("3", "", ", stores=streamed", ""), "schedule.stores");
}

// The ones before the colon load what the ones behind it load, too: these loads are gone.
TEST(PoolsSchedules, FusedMembersLoadOnce) {
  const auto loads = [](const std::string& spec, bool is_fused) {
    const ir::PoolNest nest = make_nest(*frontend::parse_spec(spec));
    ir::Schedule schedule = ir::enumerate_schedules(nest, ir::Isa::avx2, 1)[0];
    EXPECT_TRUE(schedule.fused) << spec;
    schedule.fused = is_fused;
    const auto program = ir::lower(nest, schedule, ir::Isa::avx2);
    EXPECT_TRUE(program) << spec;
    return std::ranges::count_if(program->insts,
                                 [](const ir::Inst& inst) { return inst.op == ir::Op::load; });
  };
  for (const char* spec : {"pools(float32[1,8,64,64], avg_pool2d(2), max_pool2d(2))",
                           "pools(float32[1,8,66,66], avg_pool2d(3, 1, 0), max_pool2d(3, 1, 0))",
                           "pools(float64[1,64,8,8]:nhwc, max_pool2d(2), avg_pool2d(2))"})
    EXPECT_EQ(2 * loads(spec, true), loads(spec, false)) << spec;
  // The masked last vector of a plane is filled up with another value.
  const char* const global = "pools(float32[1,8,7,7], adaptive_avg_pool2d(1), adaptive_max_pool2d(1))";
  EXPECT_LT(loads(global, true), loads(global, false));
}

// One part loads in a loop of its own what another one loads behind it.
TEST(PoolsSchedules, WhatALoopLoadsIsNotKnownBehindIt) {
  const auto part = [](bool loop_first) {
    ir::Builder b("part", ir::Isa::avx2);
    b.add_task("n", ir::TaskDim::batch_extent);
    const ir::Value input = b.param(ir::Param::Role::input), output = b.param(ir::Param::Role::output);
    const ir::Value images = b.param(ir::Param::Role::count);
    const ir::Type type = ir::Type::vec(ir::DType::f32, 8);
    const auto copy = [&](int64_t offset) {
      const ir::Value loaded = b.load(type, {.base = input});
      b.store({.base = output, .offset = offset}, loaded);
    };
    b.begin_loop(images);
    if (!loop_first) copy(0);
    b.begin_loop(b.iconst(loop_first ? 5 : 3));
    copy(32);
    b.end_loop();
    if (loop_first) copy(0);
    b.end_loop();
    b.ret();
    return b.finish();
  };
  const ir::MemberPart parts[] = {{part(false), 0}, {part(true), 1}};
  const auto joined = ir::join_members("both", parts, {}, true);
  ASSERT_TRUE(joined) << to_string(joined.error());
  const auto verified = ir::verify(*joined);
  EXPECT_TRUE(verified) << to_string(verified.error()) << ir::print(*joined);
}

// By default loops are fused only where the registers suffice, whatever the layer.
TEST(PoolsSchedules, FusedDefaultsCompile) {
  int fused = 0;
  for (const char* shape : {"2,24,13,21", "3,64,16,16", "1,5,7,7"})
    for (const char* layout : {"", ":nhwc"})
      for (const char* dtype : {"float32", "float64"})
        for (const char* window : {"1", "2", "3", "[1,3]", "[3,2], 1", "3, 1, 1", "3, 2, 1",
                                   "[2,3], [3,2], 1, ceil_mode=True", "5", "3, 1, 1, dilation=2", "7, 7, 3"})
          for (const char* rule : {"", ", nan=ignore"})
            for (const char* average : {"", ", count_include_pad=False", ", divisor_override=3"}) {
              const std::string more =
                  std::string(window).find("dilation") == std::string::npos ? average : "";
              const std::string spec = std::string("pools(") + dtype + "[" + shape + "]" + layout +
                                       ", max_pool2d(" + window + rule + "), avg_pool2d(" + window + more +
                                       "))";
              const auto parsed = frontend::parse_spec(spec);
              if (!parsed) continue;  // an average knows no dilation
              for (const ir::IsaInfo& isa : ir::isa_table) {
                const ir::PoolNest nest = make_nest(*parsed);
                const ir::Schedule schedule = ir::enumerate_schedules(nest, isa.isa, 1)[0];
                fused += schedule.fused ? 1 : 0;
                auto program = ir::lower(nest, schedule, isa.isa);
                ASSERT_TRUE(program) << spec << ": " << to_string(program.error());
                program = ir::legalize(std::move(*program));
                ASSERT_TRUE(program) << spec << ": " << to_string(program.error());
                const auto code = jit::emit(jit::BackendId::xbyak, *program);
                EXPECT_TRUE(code) << spec << ": " << to_string(code.error());
              }
            }
  EXPECT_GT(fused, 100);
}

TEST(PoolsSchedules, MembersThatCannotBeFusedAreRefused) {
  const auto with = [](const std::string& members) {
    return refusal("pools(float32[1,6,20,20], max_pool2d(3, 1, 1), max_pool2d(5, 1, 2))",
                   "fused(channels=3, rows=1)[" + members + "]");
  };
  const std::string first = "channels_first(lanes=8, scan=tap_by_tap, tap_code=straight, tail=mask",
                    passes = "row_passes(lanes=8, scan=passes, tail=overlap)";
  EXPECT_EQ(with(first + "); " + first + ")"), "");
  EXPECT_EQ(with(first + "); " + first + ", from=0)"), "schedule.members");
  EXPECT_EQ(with(passes + "; " + first + ")"), "schedule.members");
}

TEST(PoolsSchedules, AProgramComesApartAgainAtEachStage) {
  const auto spec = frontend::parse_spec("pools(float32[2,8,9,9], max_pool2d(3, 1, 1), avg_pool2d(3, 2, 1))");
  ASSERT_TRUE(spec);
  const ir::PoolNest nest = make_nest(*spec);
  for (const ir::Stage stage : {ir::Stage::affine, ir::Stage::addressed, ir::Stage::legal}) {
    const auto program = runtime::make_program(nest, {}, stage);
    ASSERT_TRUE(program) << to_string(program.error());
    ASSERT_TRUE(ir::verify(*program));
    const auto again = ir::parse_program(ir::print(*program));
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_EQ(*again, *program);
    for (const int member : {0, 1}) {
      const ir::Program alone = ir::only_member(*program, nest.members, member);
      const auto verified = ir::verify(alone);
      EXPECT_TRUE(verified) << to_string(verified.error());
      EXPECT_LT(alone.insts.size(), program->insts.size());
      for (const ir::Param& param : alone.params) {
        const bool is_output = param.role == ir::Param::Role::output;
        EXPECT_TRUE(!is_output || param.number == 0);
      }
    }
  }
}

// Also where the members are done in one loop, by another schedule than alone.
TEST(PoolsSchedules, AveragesAddInTheOrderThatTheyHaveAlone) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> draw(-1, 1);
  int fused = 0;
  for (const std::string layout : {"", ":nhwc"})
    for (const std::string window : {"2", "3, 1, 1", "3, 2, 1", "[2,3], 1", "[3,2], [1,1]", "7"})
      for (const ir::Isa each : ir::all_isas) {
        if (!runtime::can_run(each)) continue;
        const std::string isa(info(each).text);
        const std::string input = "float32[2,16,56,56]" + layout;
        const auto pool = [&](const char* what, const std::string& of) {
          return fmt::format("{}_pool2d({}{})", what, of, window);
        };
        const Kernel both =
            compile(fmt::format("pools({}, {}, {})", input, pool("max", ""), pool("avg", "")), {.isa = isa});
        const Kernel alone = compile(pool("avg", input + ", "), {.isa = isa});
        fused += both.schedule().starts_with("fused") ? 1 : 0;
        std::vector<float> x(both.input_bytes() / 4), maxima(both.output_bytes(0) / 4),
            averages(both.output_bytes(1) / 4), wanted(alone.output_bytes() / 4);
        for (float& value : x) value = draw(random);
        tests::run(both, x.data(), {.outputs = {maxima.data(), averages.data()}});
        alone.run(x.data(), wanted.data());
        EXPECT_EQ(averages, wanted) << both.spec() << " " << both.schedule();
      }
  EXPECT_GT(fused, 0);
}

}  // namespace
}  // namespace pooljit
