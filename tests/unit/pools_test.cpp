// Several pools of one tensor: each member's results are those of the same pool alone, in every layout and by
// every engine; what callers may get wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "c_words.h"
#include "frontend/pool_spec.h"
#include "ir/member_steps.h"
#include "ir/members.h"
#include "ir/passes/pipeline.h"
#include "ir/schedule.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "jit/backend.h"
#include "lab/check.h"
#include "pooljit.h"
#include "pooljit.hpp"
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
    // With steps that take arrays and tensors: in one loop, one after the other, larger ones of smaller ones.
    "pools(float32[2,20,9,9], avg_pool2d(3, 1, 1, epilogue=[scale_channel, relu]), max_pool2d(3, 1, 1, "
    "epilogue=[add]), concat=True, include_input=True)",
    "pools(uint8[2,24,9,9]:nhwc, avg_pool2d(2, epilogue=[mul_channel, add(float16)], output_dtype=float32), "
    "max_pool2d(3), max_pool2d(3, epilogue=[add_channel, add(int32)]))",
    "pools(float32[2,16,9,9], max_pool2d(3, 1, 1), max_pool2d(5, 1, 2, epilogue=[scale_channel, add]), "
    "concat=True)",
    "pools(float32[1,16,9,9]:nchw8c, max_pool2d(3, 1, 1, epilogue=[add]), avg_pool2d(3, 1, 1, "
    "epilogue=[add_channel]), concat=True)",
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

// The bytes of the whole are executed; what is probed has fewer channels, by the same code.
TEST(Pools, LargeTensorsAreExecutedAndProbedSmaller) {
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
    EXPECT_GT(proof->bytes_outputs, 0) << print(*proof);
    EXPECT_NE(print(*proof).find("what was probed is " + std::string(row.probed)), std::string::npos)
        << print(*proof);
  }
}

// Dense outputs of a kernel, one after the other.
std::vector<Bytes> run(const Kernel& kernel, const Bytes& input, int parts = 0) {
  std::vector<Bytes> outputs, indices;
  for (int i = 0; i < kernel.output_count(); ++i) outputs.emplace_back(kernel.output_bytes(i));
  for (int i = 0; i < kernel.indices_count(); ++i) indices.emplace_back(kernel.indices_bytes(i));
  tests::Lists lists;
  for (Bytes& each : outputs) lists.outputs.push_back(each.data());
  for (Bytes& each : indices) lists.indices.push_back(each.data());
  lists.parts = parts;
  do tests::run(kernel, input.data(), lists);
  while (++lists.part < parts);
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
  EXPECT_EQ(all.output_shape(), (std::vector<int64_t>{2, 9, 4, 4}));
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

// Each member's steps take what comes behind the operands of the members before.
TEST(Pools, OperandsOfTheStepsOfMembers) {
  const std::string spec =
      "pools(float32[2,3,6,6], avg_pool2d(3, 1, 1, epilogue=[scale_channel]), max_pool2d(2, "
      "epilogue=[add(float64)]))";
  const Kernel kernel = compile(spec);
  const Info info = kernel.info();
  ASSERT_EQ(info.operand_count, 3);
  EXPECT_EQ(info.operand_bytes[1], 12);
  EXPECT_EQ(info.operand_bytes[2], 8 * 2 * 3 * 3 * 3);
  EXPECT_STREQ(info.operand_dtype[2], "float64");
  std::vector<float> input(216), factors = {1, -2, 3}, addends = {0.5, 0, -7};
  std::iota(input.begin(), input.end(), -100.0F);
  std::vector<double> tensor(54);
  std::iota(tensor.begin(), tensor.end(), 0.25);
  const std::vector<const void*> operands = {factors.data(), addends.data(), tensor.data()};
  const auto alone = [&](const std::string& text, const std::vector<const void*>& own) {
    const Kernel one = compile(text);
    std::vector<float> output(one.output_bytes() / sizeof(float));
    tests::run(one, input.data(), {.outputs = {output.data()}, .operands = own});
    return output;
  };
  const auto a = alone("avg_pool2d(float32[2,3,6,6], 3, 1, 1, epilogue=[scale_channel])",
                       {operands[0], operands[1]}),
             b = alone("max_pool2d(float32[2,3,6,6], 2, epilogue=[add(float64)])", {operands[2]});
  std::vector<float> y(a.size()), z(b.size());
  const std::vector<void*> outputs = {y.data(), z.data()};
  tests::run(kernel, input.data(), {.outputs = outputs, .operands = operands});
  EXPECT_EQ(y, a);
  EXPECT_EQ(z, b);
  for (const char* engine : {"interpreter", "reference"}) {
    std::ranges::fill(y, 0.0F), std::ranges::fill(z, 0.0F);
    tests::run(compile(spec, {.backend = engine}), input.data(), {.outputs = outputs, .operands = operands});
    EXPECT_EQ(y, a) << engine;
    EXPECT_EQ(z, b) << engine;
  }
  const auto refused = [&](const std::vector<const void*>& given) {
    return refusal([&] { tests::run(kernel, input.data(), {.outputs = outputs, .operands = given}); });
  };
  EXPECT_EQ(refused({}), "run.operands");
  EXPECT_EQ(refused({operands[0], operands[1]}), "run.operands");
  EXPECT_EQ(refused({factors.data(), nullptr, tensor.data()}), "run.null");
  EXPECT_EQ(refused({factors.data(), z.data(), tensor.data()}), "run.overlap");
  EXPECT_EQ(refused({input.data(), input.data(), tensor.data()}), "");
}

TEST(Pools, WrongBuffersAreRefused) {
  const Kernel two = compile("pools(float32[1,2,4,4], max_pool2d(2), max_pool2d(2, return_indices=True))");
  std::vector<float> input(32), a(8), b(8);
  std::vector<int64_t> indices(8);
  const auto attempt = [&](std::vector<void*> outputs, std::vector<void*> index_arrays) {
    return refusal([&] { tests::run(two, input.data(), {.outputs = outputs, .indices = index_arrays}); });
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
  EXPECT_EQ(refusal([&] { (void)two.output_shape(2); }), "runtime.range");
}

TEST(Pools, InC) {
  pooljit_kernel* kernel = nullptr;
  ASSERT_EQ(pooljit_compile("pools(int32[1,2,4,4], max_pool2d(2), max_pool2d(4, output_dtype=float64))",
                            nullptr, &kernel),
            POOLJIT_OK);
  pooljit_info info = {};
  info.size = sizeof info;
  ASSERT_EQ(pooljit_kernel_info(kernel, &info), POOLJIT_OK);
  EXPECT_EQ(info.output_count, 2);
  EXPECT_EQ(info.indices_count, 0);
  pooljit_tensor tensor;
  int64_t bytes = 0;
  ASSERT_EQ(pooljit_kernel_output(kernel, 1, &tensor, &bytes), POOLJIT_OK);
  EXPECT_STREQ(tensor.dtype, "float64");
  EXPECT_EQ(tensor.dims[2], 1);
  EXPECT_EQ(bytes, 16);
  EXPECT_EQ(pooljit_kernel_output(kernel, 2, &tensor, &bytes), POOLJIT_INVALID);
  std::vector<int32_t> input(32), small(8);
  std::iota(input.begin(), input.end(), 0);
  std::vector<double> global(2);
  void* const outputs[] = {small.data(), global.data()};
  pooljit_args args = {};
  args.size = sizeof args;
  args.input = input.data(), args.outputs = outputs, args.output_count = 2;
  EXPECT_EQ(pooljit_run_with(kernel, &args), POOLJIT_OK) << pooljit_last_error();
  EXPECT_EQ(small, (std::vector<int32_t>{5, 7, 13, 15, 21, 23, 29, 31}));
  EXPECT_EQ(global, (std::vector<double>{15, 31}));
  args.output_count = 1;
  EXPECT_EQ(pooljit_run_with(kernel, &args), POOLJIT_INVALID);
  EXPECT_EQ(std::string(pooljit_last_error()).rfind("run.outputs", 0), 0U);
  small.assign(8, 0), global.assign(2, 0);
  args.output_count = 2;
  args.parts = 3;
  for (args.part = 0; args.part < 3; ++args.part) EXPECT_EQ(pooljit_run_with(kernel, &args), POOLJIT_OK);
  EXPECT_EQ(small, (std::vector<int32_t>{5, 7, 13, 15, 21, 23, 29, 31}));
  EXPECT_EQ(global, (std::vector<double>{15, 31}));
  EXPECT_EQ(pooljit_run_with(kernel, &args), POOLJIT_INVALID);
  EXPECT_EQ(pooljit_kernel_indices(kernel, 0, &tensor, &bytes), POOLJIT_INVALID) << "it has none";
  pooljit_release(kernel);
  ASSERT_EQ(pooljit_compile("pools(int8[2,3,4,4], max_pool2d(2), max_pool2d(4, return_indices=True), "
                            "max_pool2d(2, return_indices=True, index_dtype=int32))",
                            nullptr, &kernel),
            POOLJIT_OK);
  ASSERT_EQ(pooljit_kernel_info(kernel, &info), POOLJIT_OK);
  ASSERT_EQ(info.indices_count, 2);
  ASSERT_EQ(pooljit_kernel_indices(kernel, 1, &tensor, &bytes), POOLJIT_OK);
  EXPECT_STREQ(tensor.dtype, "int32");
  EXPECT_EQ(tensor.rank, 4);
  EXPECT_EQ(tensor.dims[2], 2);
  EXPECT_EQ(bytes, 2 * 3 * 4 * 4);
  pooljit_release(kernel);
}

}  // namespace
}  // namespace pooljit
