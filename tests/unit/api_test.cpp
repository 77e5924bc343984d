// The C++ interface, and the path from text through the cache, on every engine of this build.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "c_words.h"
#include "pooljit.hpp"
#include "runtime/cache.h"
#include "runtime/compile.h"
#include "runtime/engines.h"

namespace {

using pooljit::compile;
using pooljit::Error;
using pooljit::Kernel;
using pooljit::Options;

const std::string stem = "max_pool2d(float32[1,8,12,12], kernel_size=3, stride=2, padding=1)";

std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = float((i * 7919) % 1000);
  return values;
}

std::vector<float> run(const Kernel& kernel, const std::vector<float>& input) {
  std::vector<float> output(kernel.output_bytes() / sizeof(float));
  kernel.run(input.data(), output.data());
  return output;
}

std::vector<std::string> built_engines() {
  std::vector<std::string> names;
  for (const auto& engine : pooljit::runtime::engines())
    if (pooljit::runtime::is_built(engine.engine)) names.emplace_back(engine.text);
  return names;
}

class EveryEngine : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Built, EveryEngine, testing::ValuesIn(built_engines()));

TEST_P(EveryEngine, GivesTheSameOnAnyNumberOfThreads) {
  const std::string spec = "avg_pool2d(float32[4,32,40,40], kernel_size=3, stride=2, padding=1)";
  const std::vector<float> input = ramp(4 * 32 * 40 * 40);
  const auto with = [&](int threads) {
    return run(compile(spec, Options{.backend = GetParam(), .threads = threads}), input);
  };
  const std::vector<float> expected = with(1);
  for (int threads = 2; threads <= 4; ++threads) EXPECT_EQ(with(threads), expected);
}

TEST_P(EveryEngine, OneCodeServesEveryBatchSize) {
  const Options options{.backend = GetParam()};
  const Kernel one = compile("max_pool2d(float32[1,5,9,9]:nhwc, kernel_size=3)", options);
  const Kernel four = compile("max_pool2d(float32[4,5,9,9]:nhwc, kernel_size=3)", options);
  EXPECT_EQ(one.signature(), four.signature());
  EXPECT_NE(one.spec(), four.spec());
  const std::vector<float> input = ramp(4 * 5 * 81);
  const std::vector<float> all = run(four, input);
  std::vector<float> output(all.size());
  pooljit::tests::run(one, input.data(), {.outputs = {output.data()}, .batch = 4});
  EXPECT_EQ(output, all);
}

TEST_P(EveryEngine, SaysWhatItIs) {
  const Kernel kernel = compile(stem, Options{.backend = GetParam()});
  const bool is_reference = GetParam() == "reference";
  EXPECT_EQ(kernel.backend(), GetParam());
  EXPECT_EQ(kernel.isa() == "none", is_reference);
  EXPECT_EQ(kernel.schedule().empty(), is_reference);
  EXPECT_EQ(kernel.code_bytes() > 0,
            pooljit::runtime::info(*pooljit::runtime::find_engine(GetParam())).is_native);
  EXPECT_GT(kernel.info().compile_nanoseconds, 0);
  EXPECT_EQ(kernel.dtype(), "float32");
  EXPECT_FALSE(kernel.has_indices());
  EXPECT_TRUE(std::ranges::equal(kernel.output_shape(), std::vector<int64_t>{1, 8, 6, 6}));
  EXPECT_TRUE(std::ranges::equal(kernel.input_strides(), std::vector<int64_t>{1152, 144, 12, 1}));
  EXPECT_EQ(kernel.input_bytes(), 8U * 144 * 4);
  EXPECT_EQ(kernel.output_bytes(), 8U * 36 * 4);
  EXPECT_EQ(kernel.indices_bytes(), 0U);
}

TEST(Compile, SpellingsAndBatchesShareCode) {
  pooljit::runtime::Cache& cache = pooljit::runtime::cache();
  const Options options{.backend = "reference"};
  const uint64_t made = cache.stats().made;
  compile("max_pool2d(float32[2,3,10,10], kernel_size=[2,2], stride=2)", options);
  compile("max_pool2d(float32[2,3,10,10],kernel_size=2)", options);
  compile("max_pool2d(float32[7,3,10,10], kernel_size=2)", options);
  compile("max_pool2d(float32[7,3,10,10], kernel_size=2)", options);
  EXPECT_EQ(cache.stats().made, made + 1);
}

// Layers of one signature share their code, but where tools are told of it.
TEST(Compile, ALabelIsTheKernelsAndNotItsCodes) {
  pooljit::runtime::Cache& cache = pooljit::runtime::cache();
  const std::string spec = "max_pool2d(float32[2,3,11,10], kernel_size=2)";
  const auto made_for = [&](const std::string& label, const std::string& names) {
    const uint64_t before = cache.stats().made;
    const Kernel kernel = compile(spec, {.backend = "interpreter", .names = names, .label = label});
    EXPECT_EQ(kernel.label(), label);
    return cache.stats().made - before;
  };
  EXPECT_EQ(made_for("a/pool1", ""), 1U);
  EXPECT_EQ(made_for("a/pool2", ""), 0U);
  EXPECT_EQ(made_for("", ""), 0U);
  EXPECT_EQ(made_for("a/pool1", "gdb"), 1U);
  EXPECT_EQ(made_for("a/pool2", "gdb"), 1U);
  EXPECT_EQ(made_for("a/pool1", "gdb"), 0U);
}

TEST(Compile, ASpecFindsItsKernelAgain) {
  pooljit::runtime::Cache& cache = pooljit::runtime::cache();
  const Options options{.backend = "reference", .threads = 1};
  const pooljit::Spec spec("max_pool2d(float32[3,5,9,9],kernel_size=[2,2])", options);
  EXPECT_EQ(spec.spec(), "max_pool2d(float32[3,5,9,9], kernel_size=2)");
  EXPECT_EQ(spec.signature(), compile(spec).signature());
  const uint64_t made = cache.stats().made;
  const size_t texts = cache.stats().texts;
  const pooljit::Spec again("max_pool2d(float32[3,5,9,9], kernel_size=2)", options);
  for (const pooljit::Spec& same : {spec, again}) EXPECT_EQ(compile(same).spec(), spec.spec());
  EXPECT_EQ(compile(spec.spec(), options).spec(), spec.spec());
  EXPECT_EQ(cache.stats().made, made);
  EXPECT_EQ(cache.stats().texts, texts);
  cache.clear();
  EXPECT_EQ(compile(spec).spec(), spec.spec());
  EXPECT_THROW(pooljit::Spec("max_pool2d(float32[3,5,9,9])"), Error);
  EXPECT_THROW(pooljit::Spec(spec.spec(), {.backend = "gpu"}), Error);
}

TEST(Compile, ErrorsAreExceptionsWithAnId) {
  const auto error_of = [](const std::string& spec, const Options& options) {
    try {
      compile(spec, options);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(error.id()), std::string::npos);
      EXPECT_FALSE(error.hint().empty());
      return error.id();
    }
    return std::string();
  };
  EXPECT_EQ(error_of("max_pool2d(float32[1,1,4,4], kernel_size=9)", {}), "spec.output_size");
  EXPECT_EQ(error_of(stem, {.backend = "gpu"}), "runtime.options");
  EXPECT_THROW(pooljit::options_read("fast"), Error);
  const Kernel kernel = compile(stem, {.backend = "reference"});
  EXPECT_THROW(kernel.run(nullptr, nullptr), Error);
}

TEST(Compile, AKernelOutlivesItsPlaceInTheCache) {
  const std::vector<float> input = ramp(8 * 144);
  const Kernel kernel = compile(stem, {.backend = "interpreter"});
  const std::vector<float> before = run(kernel, input);
  pooljit::runtime::cache().clear();
  EXPECT_EQ(run(kernel, input), before);
}

TEST(Compile, WorksFromManyThreads) {
  const std::vector<float> input = ramp(8 * 144);
  const std::vector<float> expected = run(compile(stem, {.backend = "reference"}), input);
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        if (i == 0) pooljit::runtime::cache().clear();
        EXPECT_EQ(run(compile(stem, {.backend = "interpreter", .threads = 1 + i % 3}), input), expected);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Fork, AChildGetsThreadsOfItsOwn) {
  const std::string spec = "max_pool2d(float32[8,16,40,40], kernel_size=2)";
  const std::vector<float> input = ramp(8 * 16 * 1600);
  const Kernel kernel = compile(spec, {.backend = "interpreter", .threads = 2});
  const std::vector<float> expected = run(kernel, input);  // the parent's threads exist now
  const pid_t child = fork();
  if (child == 0) _exit(run(kernel, input) == expected ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Sizes, AKernelTakesEachSizeAndHasAKernelForIt) {
  const std::string text = "max_pool2d(float32[N,1,H,W], kernel_size=2)";
  const pooljit::Spec spec(text, {.sizes = 2});
  const Kernel kernel = compile(spec);
  EXPECT_TRUE(spec.has_free_dims() && kernel.has_free_dims());
  EXPECT_EQ(kernel.spec(), text);
  const std::vector<float> input = ramp(2 * 3 * 4);
  for (const int64_t width : {4, 3}) {
    const std::vector<int64_t> size = {3, width};
    const pooljit::Spec sized = spec.sized(size);
    EXPECT_EQ(sized.output_shape(), (std::vector<int64_t>{1, 1, 1, width / 2}));
    std::vector<float> output(sized.output_bytes() / sizeof(float)), again = output;
    const std::vector<void*> outputs = {output.data()};
    pooljit::Args args;
    args.input = input.data();
    args.set_outputs(outputs);
    args.set_batch(1);
    args.set_dims(size);
    kernel.run_with(args);
    args.dims = nullptr, args.dim_count = 0;
    const std::vector<void*> others = {again.data()};
    args.set_outputs(others);
    kernel.sized(size).run_with(args);
    EXPECT_EQ(output, again);
    const auto below = static_cast<size_t>(width);
    EXPECT_EQ(output[0], std::max({input[0], input[1], input[below], input[below + 1]}));
  }
  try {
    (void)kernel.output_shape();
    ADD_FAILURE() << "it has none";
  } catch (const pooljit::Error& error) {
    EXPECT_EQ(error.id(), "run.dims");
  }
}

}  // namespace
