// Several pools of one tensor: each member's results are those of the same pool alone, in every layout and by
// every engine; what callers may get wrong; joining and taking apart Programs.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/member_steps.h"
#include "ir/members.h"
#include "ir/passes/pipeline.h"
#include "ir/schedule.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "jit/backend.h"
#include "pooljit.h"
#include "pooljit.hpp"
#include "runtime/check.h"
#include "runtime/engines.h"
#include "runtime/options.h"
#include "runtime/proof/verify.h"

namespace pooljit {
namespace {

using Bytes = std::vector<std::byte>;

const char* const specs[] = {
    "pools(float32[1,20,19,19], max_pool2d(5, 1, 2), max_pool2d(9, 1, 4), max_pool2d(13, 1, 6), concat=True, "
    "include_input=True)",
    "pools(uint8[2,40,9,9]:nhwc, max_pool2d(5, 1, 2), max_pool2d(9, 1, 4), concat=True, include_input=True)",
    "pools(float32[2,24,12,12], adaptive_avg_pool2d(1), adaptive_avg_pool2d(2), adaptive_avg_pool2d(3), "
    "adaptive_avg_pool2d(6))",
    "pools(float32[2,24,12,12]:nhwc, adaptive_avg_pool2d(1), adaptive_avg_pool2d(2), adaptive_avg_pool2d(3))",
    "pools(bfloat16[2,20,7,7]:nhwc, adaptive_avg_pool2d(1), adaptive_max_pool2d(1), concat=True)",
    "pools(int8[2,6,11,13], avg_pool2d(3, 1, 1), max_pool2d(3, 1, 1, return_indices=True), max_pool2d(3, 2, "
    "1, "
    "return_indices=True))",
    "pools(float16[3,17], max_pool1d(3, 1, 1), min_pool1d(3, 1, 1), concat=True, include_input=True)",
    "pools(float64[N,4,5,6,7], max_pool3d(3, 1, 1), avg_pool3d(3, 1, 1), output_layout=nhwc, concat=True)",
    "pools(float32[1,16,9,9]:nchw8c, max_pool2d(3, 1, 1), avg_pool2d(3, 1, 1), concat=True, "
    "include_input=True)",
    "pools(float32[2,4,9,9], max_pool2d(3, 1, 1), min_pool2d(3, 1, 1), strides=[400,100,10,1], concat=True, "
    "output_strides=[900,100,10,1])",
    "pools(float32[16,10,10], lp_pool2d(2, 3), min_pool2d(2, epilogue=[relu]), sum_pool2d(5, "
    "output_dtype=float64), max_pool2d(2), max_pool2d(3), max_pool2d(4), max_pool2d(5), max_pool2d(6))",
    // In one loop: rows that roll, whole pixels, planes.
    "pools(float32[2,5,13,21], avg_pool2d(3, 1, 1), max_pool2d(3, 1, 1), concat=True)",
    "pools(float64[2,24,9,8]:nhwc, max_pool2d(2, nan=ignore), avg_pool2d(2), concat=True)",
    "pools(float32[2,24,7,7], adaptive_avg_pool2d(1), adaptive_max_pool2d(1), concat=True)",
    // Larger ones of smaller ones, of which one is no part of the output's dimensions or comes later, beside
    // others.
    "pools(uint8[2,40,9,9], max_pool2d(9, 1, 4), max_pool2d(3, 1, 1, return_indices=True), max_pool2d(5, 1, "
    "2))",
    "pools(bfloat16[1,6,5,40], min_pool2d([3, 7], 1), min_pool2d([5, 13], 1), min_pool2d([5, 25], 1, "
    "epilogue=[relu]))",
    "pools(float32[2,16,7,7]:nhwc, max_pool2d(3, 1, 1), max_pool2d(7, 1, 3), max_pool2d(5, 1, 2), "
    "concat=True)",
    "pools(float16[1,16,6,9,8]:ncdhw8c, max_pool3d(3, 1, 1), max_pool3d(5, 1, 2))",
    "pools(int32[3,70], max_pool1d(7, 1, 3), max_pool1d(13, 1, 6), strides=[100, 1])",
};

TEST(Pools, EveryEngineAgreesOnEachMember) {
  for (const char* spec : specs) {
    const auto report = runtime::check(spec, {.schedules = runtime::CheckOptions::Schedules::some});
    ASSERT_TRUE(report) << spec << ": " << to_string(report.error());
    EXPECT_TRUE(report->ok()) << print(*report);
    EXPECT_GT(report->runs, 0);
  }
}

TEST(Pools, TheMachineCodeOfEachMemberIsProved) {
  for (const char* spec : specs) {
    const auto choices = runtime::resolve({});
    ASSERT_TRUE(choices);
    const auto proof = runtime::verify(spec, *choices);
    ASSERT_TRUE(proof) << spec << ": " << to_string(proof.error());
    EXPECT_TRUE(proof->ok()) << print(*proof);
  }
}

// Of fewer channels, by the same code.
TEST(Pools, LargeTensorsAreProvedBySmallerOnes) {
  const auto choices = runtime::resolve({.backend = "xbyak", .isa = "avx2"});
  ASSERT_TRUE(choices);
  const struct {
    const char *spec, *probed;
  } rows[] = {{"pools(float32[1,512,19,19], max_pool2d(5, 1, 2), max_pool2d(9, 1, 4), concat=True)",
               "pools(float32[1,16,19,19], "},
              {"pools(float32[1,300,33,33]:nhwc, max_pool2d(3, 1, 1), avg_pool2d(3, 1, 1))",
               "pools(float32[1,172,33,33]:nhwc, "}};
  for (const auto& row : rows) {
    const auto proof = runtime::verify(row.spec, *choices);
    ASSERT_TRUE(proof) << row.spec << ": " << to_string(proof.error());
    EXPECT_TRUE(proof->ok()) << print(*proof);
    EXPECT_NE(print(*proof).find("the tensor is too large: what was probed is " + std::string(row.probed)),
              std::string::npos)
        << print(*proof);
  }
}

// Dense outputs of a kernel, one after the other.
std::vector<Bytes> run(const Kernel& kernel, const Bytes& input, int parts = 0) {
  std::vector<Bytes> outputs, indices;
  for (size_t i = 0; i < kernel.output_count(); ++i) outputs.emplace_back(kernel.output_bytes(i));
  for (size_t i = 0; i < kernel.indices_count(); ++i) indices.emplace_back(kernel.indices_bytes(i));
  std::vector<void*> output_pointers, index_pointers;
  for (Bytes& each : outputs) output_pointers.push_back(each.data());
  for (Bytes& each : indices) index_pointers.push_back(each.data());
  if (parts == 0) kernel.run(input.data(), output_pointers, index_pointers);
  for (int part = 0; part < parts; ++part)
    kernel.run_part(input.data(), output_pointers, index_pointers, part, parts);
  outputs.insert(outputs.end(), indices.begin(), indices.end());
  return outputs;
}

Bytes random_bytes(size_t count) {
  Bytes bytes(count);
  std::mt19937 random(7);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 100);
  return bytes;
}

TEST(Pools, ConcatenatesInChannelsAfterTheInput) {
  const Kernel all = compile(
      "pools(uint8[2,3,4,4], max_pool2d(3, 1, 1), min_pool2d(3, 1, 1), concat=True, include_input=True)");
  EXPECT_EQ(std::vector<int64_t>(all.output_shape().begin(), all.output_shape().end()),
            (std::vector<int64_t>{2, 9, 4, 4}));
  const Bytes input = random_bytes(all.input_bytes());
  const Bytes maxima = run(compile("max_pool2d(uint8[2,3,4,4], 3, 1, 1)"), input)[0];
  const Bytes minima = run(compile("min_pool2d(uint8[2,3,4,4], 3, 1, 1)"), input)[0];
  Bytes wanted;
  for (size_t n = 0; n < 2; ++n)
    for (const Bytes* from : {&input, &maxima, &minima})
      wanted.insert(wanted.end(), from->begin() + std::ptrdiff_t(n * 48),
                    from->begin() + std::ptrdiff_t(n * 48 + 48));
  EXPECT_EQ(run(all, input)[0], wanted);
  Bytes by_plain_call(all.output_bytes());
  all.run(input.data(), by_plain_call.data());
  EXPECT_EQ(by_plain_call, wanted);
}

TEST(Pools, PartsAndThreadsDoTheSame) {
  const std::string spec =
      "pools(uint8[3,64,9,9], max_pool2d(3, 1, 1, return_indices=True), max_pool2d(5, 2, 2), avg_pool2d(2))";
  const Kernel kernel = compile(spec);
  const Bytes input = random_bytes(kernel.input_bytes());
  const auto whole = run(kernel, input);
  ASSERT_EQ(whole.size(), 4U);
  EXPECT_EQ(run(kernel, input, 1), whole);
  EXPECT_EQ(run(kernel, input, 5), whole);
  EXPECT_EQ(run(compile(spec, {.threads = 2}), input), whole);
  EXPECT_EQ(run(compile(spec, {.backend = "reference"}), input), whole);
  EXPECT_EQ(run(compile(spec, {.backend = "interpreter"}), input), whole);
}

TEST(Pools, ACopyKeepsEveryBit) {
  // Signalling NaNs, and zeros of either sign.
  const std::vector<uint16_t> halves = {0x7d01, 0xfdff, 0x8000, 0x0000, 0x7c00, 0xfe12, 0x0001, 0x3c00};
  for (const char* dtype : {"float16", "bfloat16"}) {
    const Kernel kernel = compile(std::string("pools(") + dtype +
                                  "[1,8], max_pool1d(3, 1, 1), concat=True, include_input=True)");
    std::vector<uint16_t> output(16);
    kernel.run(halves.data(), output.data());
    EXPECT_EQ(std::vector<uint16_t>(output.begin(), output.begin() + 8), halves) << dtype;
  }
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.id();
  }
  return "";
}

TEST(Pools, WrongBuffersAreRefused) {
  const Kernel two = compile("pools(float32[1,2,4,4], max_pool2d(2), max_pool2d(2, return_indices=True))");
  std::vector<float> input(32), a(8), b(8);
  std::vector<int64_t> indices(8);
  const auto attempt = [&](std::vector<void*> outputs, std::vector<void*> index_arrays) {
    return refusal([&] { two.run(input.data(), outputs, index_arrays); });
  };
  EXPECT_EQ(attempt({a.data(), b.data()}, {indices.data()}), "");
  EXPECT_EQ(attempt({a.data()}, {indices.data()}), "run.outputs");
  EXPECT_EQ(attempt({a.data(), b.data(), b.data()}, {indices.data()}), "run.outputs");
  EXPECT_EQ(attempt({a.data(), b.data()}, {}), "run.indices");
  EXPECT_EQ(attempt({a.data(), nullptr}, {indices.data()}), "run.null");
  EXPECT_EQ(attempt({a.data(), b.data()}, {nullptr}), "run.null");
  EXPECT_EQ(attempt({a.data(), a.data()}, {indices.data()}), "run.overlap");
  EXPECT_EQ(attempt({a.data(), input.data()}, {indices.data()}), "run.overlap");
  EXPECT_EQ(refusal([&] { two.run(input.data(), a.data()); }), "run.outputs");
  EXPECT_THROW((void)two.output_shape(2), std::out_of_range);
}

TEST(Pools, InC) {
  pooljit_kernel* kernel = nullptr;
  ASSERT_EQ(pooljit_compile("pools(int32[1,2,4,4], max_pool2d(2), max_pool2d(4, output_dtype=float64))",
                            nullptr, &kernel),
            POOLJIT_OK);
  EXPECT_EQ(pooljit_output_count(kernel), 2);
  EXPECT_EQ(pooljit_indices_count(kernel), 0);
  pooljit_tensor tensor;
  int64_t bytes = 0;
  ASSERT_EQ(pooljit_output_info(kernel, 1, &tensor, &bytes), POOLJIT_OK);
  EXPECT_STREQ(tensor.dtype, "float64");
  EXPECT_EQ(tensor.dims[2], 1);
  EXPECT_EQ(bytes, 16);
  EXPECT_EQ(pooljit_output_info(kernel, 2, &tensor, &bytes), POOLJIT_INVALID);
  std::vector<int32_t> input(32), small(8);
  std::iota(input.begin(), input.end(), 0);
  std::vector<double> global(2);
  void* const outputs[] = {small.data(), global.data()};
  EXPECT_EQ(pooljit_run_outputs(kernel, input.data(), outputs, 2, nullptr, 0, nullptr), POOLJIT_OK)
      << pooljit_last_error();
  EXPECT_EQ(small, (std::vector<int32_t>{5, 7, 13, 15, 21, 23, 29, 31}));
  EXPECT_EQ(global, (std::vector<double>{15, 31}));
  EXPECT_EQ(pooljit_run_outputs(kernel, input.data(), outputs, 1, nullptr, 0, nullptr), POOLJIT_INVALID);
  EXPECT_EQ(std::string(pooljit_last_error()).rfind("run.outputs", 0), 0U);
  for (int part = 0; part < 3; ++part) {
    if (part == 0) small.assign(8, 0), global.assign(2, 0);
    EXPECT_EQ(pooljit_run_outputs_part(kernel, input.data(), outputs, 2, nullptr, 0, nullptr, part, 3),
              POOLJIT_OK);
  }
  EXPECT_EQ(small, (std::vector<int32_t>{5, 7, 13, 15, 21, 23, 29, 31}));
  EXPECT_EQ(global, (std::vector<double>{15, 31}));
  EXPECT_EQ(pooljit_run_outputs_part(kernel, input.data(), outputs, 2, nullptr, 0, nullptr, 3, 3),
            POOLJIT_INVALID);
  EXPECT_EQ(pooljit_indices_info(kernel, 0, &tensor, &bytes), POOLJIT_INVALID) << "it has none";
  pooljit_release(kernel);
  EXPECT_EQ(pooljit_output_count(nullptr), 0);
  ASSERT_EQ(pooljit_compile("pools(int8[2,3,4,4], max_pool2d(2), max_pool2d(4, return_indices=True), "
                            "max_pool2d(2, return_indices=True, index_dtype=int32))",
                            nullptr, &kernel),
            POOLJIT_OK);
  ASSERT_EQ(pooljit_indices_count(kernel), 2);
  ASSERT_EQ(pooljit_indices_info(kernel, 1, &tensor, &bytes), POOLJIT_OK);
  EXPECT_STREQ(tensor.dtype, "int32");
  EXPECT_EQ(tensor.rank, 4);
  EXPECT_EQ(tensor.dims[2], 2);
  EXPECT_EQ(bytes, 2 * 3 * 4 * 4);
  pooljit_release(kernel);
}

TEST(Pools, SchedulesPrintAndParse) {
  const std::string text =
      "each(channels=4, rows=1)[channels_last(lanes=1, unroll=1, tail=mask, taps=unroll, order=row_major); "
      "channels_first(lanes=8, unroll=1, tail=split, taps=unroll, order=rolling)]";
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
  EXPECT_EQ(refusal([&] { (void)compile("pools(float32[1,2,4,4], max_pool2d(2))", {.schedule = text}); }),
            "schedule.members");
  EXPECT_EQ(refusal([&] { (void)compile("max_pool2d(float32[1,2,4,4], 2)", {.schedule = text}); }),
            "schedule.members");
}

// Windows of every extent, and paddings of either side: where there is a nest for the larger one, each of its
// windows is the union of the smaller's that it names.
TEST(Pools, LargerWindowsAreUnionsOfSmallerOnes) {
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

TEST(Pools, OnlyWhatKeepsEveryBitIsMadeOfAnother) {
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

TEST(Pools, WrongSourcesAreRefused) {
  const auto with = [](const std::string& tasks, const std::string& first, const std::string& second) {
    const std::string family = "channels_first(lanes=1, unroll=1, tail=mask, taps=unroll, order=row_major";
    return refusal([&] {
      (void)compile("pools(float32[1,6,9,9], max_pool2d(3, 1, 1), max_pool2d(5, 1, 2))",
                    {.schedule = "each(channels=" + tasks + ", rows=1)[" + family + first + "); " + family +
                                 second + ")]"});
    });
  };
  EXPECT_EQ(with("3", "", ", from=0"), "");
  EXPECT_EQ(with("1", "", ", from=0"), "");
  EXPECT_EQ(with("4", "", ", from=0"), "schedule.members");
  EXPECT_EQ(with("7", "", ", from=0"), "schedule.members");
  EXPECT_EQ(with("3", "", ", from=1"), "schedule.from");
  EXPECT_EQ(with("3", "", ", from=2"), "schedule.from");
  EXPECT_EQ(with("3", ", from=1", ""), "schedule.from");
  EXPECT_EQ(with("3", ", from=1", ", from=0"), "schedule.from");
  EXPECT_EQ(with("3", "", ", from=x"), "schedule.text");
  EXPECT_EQ(with("3", "", ", stores=streamed"), "schedule.stores");
}

// The ones before the colon load what the ones behind it load, too: these loads are gone.
TEST(Pools, FusedMembersLoadOnce) {
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
  for (const char* spec : {"pools(float32[1,8,14,14], avg_pool2d(2), max_pool2d(2))",
                           "pools(float32[1,8,20,20], avg_pool2d(3, 1, 0), max_pool2d(3, 1, 0))",
                           "pools(float64[1,64,8,8]:nhwc, max_pool2d(2), avg_pool2d(2))"})
    EXPECT_EQ(2 * loads(spec, true), loads(spec, false)) << spec;
  // The masked last vector of a plane is filled up with another value.
  const char* const global = "pools(float32[1,8,7,7], adaptive_avg_pool2d(1), adaptive_max_pool2d(1))";
  EXPECT_LT(loads(global, true), loads(global, false));
}

// By default loops are fused only where the registers suffice, whatever the layer.
TEST(Pools, FusedDefaultsCompile) {
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

TEST(Pools, MembersThatCannotBeFusedAreRefused) {
  const auto with = [](const std::string& members) {
    return refusal([&] {
      (void)compile("pools(float32[1,6,20,20], max_pool2d(3, 1, 1), max_pool2d(5, 1, 2))",
                    {.isa = "avx2", .schedule = "fused(channels=3, rows=1)[" + members + "]"});
    });
  };
  const std::string first = "channels_first(lanes=8, unroll=1, tail=mask, taps=unroll, order=row_major",
                    passes = "row_passes(lanes=8, unroll=1, tail=overlap, taps=unroll, order=rows_first)";
  EXPECT_EQ(with(first + "); " + first + ")"), "");
  EXPECT_EQ(with(first + "); " + first + ", from=0)"), "schedule.members");
  EXPECT_EQ(with(passes + "; " + first + ")"), "schedule.members");
}

TEST(Pools, AProgramComesApartAgainAtEachStage) {
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
      const ir::Program alone = ir::only_member(*program, member);
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

}  // namespace
}  // namespace pooljit
