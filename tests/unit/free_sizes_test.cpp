// Specs with free dims: their texts and refusals, and kernels of many sizes from one free kernel, beside the
// reference.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "runtime/compile.h"
#include "runtime/limits.h"
#include "runtime/sized_code.h"
#include "tests/cases.h"
#include "tests/matrix/specs.h"
#include "tests/unit/free_kernels.h"
#include "tools/fuzz/draw.h"

namespace pooljit::runtime {
namespace {

using frontend::FreeDims;
using frontend::PoolSpec;

std::string shown(const std::vector<int64_t>& list) { return fmt::format("[{}]", fmt::join(list, ",")); }

TEST(FreeSizes, TextsPrintBackAndHaveSizes) {
  for (const test::GoldenCase& row : test::read_cases("spec/free.txt")) {
    if (row.fields.count("free") == 0) continue;
    const std::string text = row.fields.at("free");
    SCOPED_TRACE(fmt::format("free.txt:{}: {}", row.line, text));
    const auto spec = frontend::parse_spec(text, FreeDims::allowed);
    ASSERT_TRUE(spec) << to_string(spec.error());
    const std::string canonical = row.fields.at("canonical") == "=" ? text : row.fields.at("canonical");
    EXPECT_EQ(print(*spec), canonical);
    EXPECT_EQ(signature(*spec), row.fields.at("signature"));
    for (const std::string& printed : {print(*spec), signature(*spec)}) {
      const auto again = frontend::parse_spec(printed, FreeDims::allowed);
      ASSERT_TRUE(again) << to_string(again.error());
      EXPECT_EQ(signature(*again), signature(*spec));
      EXPECT_TRUE(printed != canonical || *again == *spec);
    }
    EXPECT_EQ(shown(known_output_shape(*spec)), row.fields.at("known"));
    const auto sized = with_sizes(*spec, size_of(row.fields.at("size")));
    ASSERT_TRUE(sized) << to_string(sized.error());
    EXPECT_EQ(shown(output_shape(*sized)), row.fields.at("output"));
    EXPECT_EQ(print(*sized), row.fields.at("sized"));
  }
}

TEST(FreeSizes, RefusalsNameTheRule) {
  for (const test::GoldenCase& row : test::read_cases("spec/free.txt")) {
    if (row.fields.count("error") == 0) continue;
    const bool has_size = row.fields.count("at") > 0;
    const std::string text = row.fields.at(has_size ? "at" : "refuse");
    SCOPED_TRACE(fmt::format("free.txt:{}: {}", row.line, text));
    auto spec = frontend::parse_spec(text, FreeDims::allowed);
    if (has_size) {
      ASSERT_TRUE(spec) << to_string(spec.error());
      spec = with_sizes(*spec, size_of(row.fields.at("size")));
    }
    ASSERT_FALSE(spec) << print(*spec);
    EXPECT_EQ(spec.error().id, row.fields.at("error"));
    const std::string message = to_string(spec.error());
    EXPECT_NE(message.find(row.fields.at("message")), std::string::npos) << message;
  }
}

// The least size of a free dim is the least: what is checked without a size holds for one.
TEST(FreeSizes, TheLeastSizeIsTheLeast) {
  int64_t specs = 0;
  for (const int64_t kernel : {1, 2, 3, 5})
    for (const int64_t stride : {1, 2, 4})
      for (const int64_t dilation : {1, 3})
        for (const char* padding : {"0", "1", "[2,0]", "[0,-2]", "[1,-1]"})
          for (const char* ceil : {"False", "True", "plain"}) {
            const auto spec = frontend::parse_spec(
                fmt::format("max_pool1d(float32[1,1,L], kernel_size={}, stride={}, dilation={}, padding={}, "
                            "ceil_mode={})",
                            kernel, stride, dilation, padding, ceil),
                FreeDims::allowed);
            ASSERT_TRUE(spec) << to_string(spec.error());
            const int64_t least = spec->dims[0].input;
            for (int64_t size = 1; size <= 20; ++size)
              EXPECT_EQ(with_sizes(*spec, {{size}}).has_value(), size >= least) << print(*spec) << size;
            ++specs;
          }
  EXPECT_EQ(specs, 4 * 3 * 2 * 5 * 3);
}

// --- kernels

TEST(FreeSizes, OfTheMatrixGiveWhatTheReferenceGives) {
  std::vector<PoolSpec> layers;
  for (const tests::MatrixSpec& row : tests::pairs_of_matrix(1)) layers.push_back(row.spec);
  for (const std::string& text : tests::pools_specs(30)) layers.push_back(*frontend::parse_spec(text));
  constexpr int sizes_of_each = 5;
  int64_t kernels = 0, impossible = 0;
  constexpr size_t step = 3;
  fuzz::Draw draw(1);
  for (size_t i = 0; i < layers.size(); i += step) {
    const auto text = freed(layers[i]);
    if (!text) continue;
    const FreeKernelPtr free = compile_free(print(*text));
    ASSERT_TRUE(free);
    for (int n = 0; n < sizes_of_each; ++n) {
      std::vector<int64_t> size;
      for (const frontend::SpecDim& dim : free->spec().dims)
        size.push_back(dim.input + draw.between(0, 4 * n));
      const auto kernel = free->code_for(size);
      if (!kernel) {
        EXPECT_TRUE(kernel.error().id.starts_with("spec.")) << to_string(kernel.error());
        ++impossible;
        continue;
      }
      EXPECT_EQ(*free->code_for(size), *kernel);
      const auto exact = with_sizes(free->spec(), size);
      ASSERT_TRUE(exact);
      EXPECT_EQ((*kernel)->text(), print(*exact));
      if (is_unpool(*exact)) continue;  // whose indices are data
      EXPECT_EQ(objection(*kernel, DataKind::ties, i + 1), "") << print(*exact);
      ++kernels;
    }
  }
  EXPECT_GT(kernels, 20 * sizes_of_each);
  EXPECT_LT(impossible, kernels / 4);
}

// --- what is kept

// What is kept of a size is its words, or its code: by both kinds of layers.
constexpr const char* both_kinds[] = {"max_pool1d(float32[1,8,L]:nwc, kernel_size=2)",
                                      "max_pool1d(float32[1,8,L], kernel_size=2, strides=[800,100,2])"};

TEST(FreeSizes, TheSizeUsedLongestAgoIsForgotten) {
  for (const char* text : both_kinds) {
    const FreeKernelPtr free = compile_free(text, {.sizes = 2});
    EXPECT_EQ(free->general_code() != nullptr, text == both_kinds[0]) << text;
    const auto size = [&](int64_t extent) { return *free->code_for({{extent}}); };
    const KernelPtr a = size(10), b = size(11);
    EXPECT_EQ(size(10), a);
    (void)size(12);
    EXPECT_EQ(free->kept_sizes(), 2U);
    EXPECT_EQ(size(10), a);
    EXPECT_NE(size(11), b);
  }
}

// Neither the kernel nor the process's cache grows with the sizes that were run.
TEST(FreeSizes, TenThousandSizesHoldNoMoreThanAHundred) {
  for (const char* backend : {"reference", "xbyak"}) {
    const FreeKernelPtr free = compile_free(both_kinds[0], {.backend = backend});
    const auto run_to = [&](int64_t last) {
      for (int64_t extent = 2; extent < last; ++extent) ASSERT_TRUE(free->code_for({{extent}}));
    };
    run_to(102);
    const auto before = cache().stats();
    run_to(10002);
    const auto after = cache().stats();
    EXPECT_EQ(free->kept_sizes(), size_t{usual_kept_sizes});
    EXPECT_EQ(after.entries, before.entries);
    EXPECT_EQ(after.bytes, before.bytes);
    EXPECT_EQ(after.texts, before.texts);
  }
}

TEST(FreeSizes, OneTextHasOneFreeKernel) {
  const std::string text = "max_pool1d(float32[1,8,L], kernel_size=2)";
  for (const char* one : both_kinds) EXPECT_EQ(compile_free(one), compile_free(one));
  EXPECT_NE(compile_free(text), compile_free(text, {.sizes = 3}));
  // A kernel of the size for itself stays, whatever a free one forgets.
  const KernelPtr exact = *compile("max_pool1d(float32[1,8,77], kernel_size=2)", {});
  const FreeKernelPtr free = compile_free(text, {.sizes = 1, .exact_after = 1});
  EXPECT_EQ(&(*free->code_for({{77}}))->code(), &exact->code());
  ASSERT_TRUE(free->code_for({{78}}));
  EXPECT_EQ(&(*compile("max_pool1d(float32[1,8,77], kernel_size=2)", {}))->code(), &exact->code());
}

TEST(FreeSizes, WhatNeedsASizeSaysSo) {
  const auto kernel = compile("max_pool1d(float32[1,8,L], kernel_size=2)", {});
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().id, "run.dims");
  const auto sizes = compile("max_pool1d(float32[1,8,9], kernel_size=2)", {.sizes = 3});
  ASSERT_FALSE(sizes);
  EXPECT_EQ(sizes.error().id, "runtime.options");
}

TEST(FreeSizes, ManyThreadsShareAFreeKernel) {
  const FreeKernelPtr free =
      compile_free("avg_pool1d(float32[1,4,L]:nwc, kernel_size=2)", {.sizes = 4, .exact_after = 3});
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (uint32_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        fuzz::Draw draw(t);
        for (int i = 0; i < 200; ++i) {
          const int64_t extent = draw.between(2, 10);
          const auto kernel = free->code_for_run({{extent}});
          std::vector<float> input(size_t(4 * extent), 2), output(size_t(4 * (extent / 2)));
          if (!kernel || !(*kernel)->run(input.data(), output.data(), nullptr) ||
              std::ranges::count(output, 2.0F) != std::ssize(output))
            ++wrong;
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(free->kept_sizes(), 4U);
}

TEST(FreeSizes, AChildRunsKnownSizesAndMakesNewOnes) {
  const FreeKernelPtr free = compile_free(both_kinds[0], {.exact_after = 2});
  ASSERT_TRUE(free->code_for({{30}}));
  std::atomic<bool> is_over = false;
  std::jthread busy([&] {
    for (int64_t i = 0; !is_over; ++i) (void)free->code_for_run({{30 + i / 2 % 200}});
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(free->code_for({{30}}) && free->code_for({{1000}}) ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  is_over = true;
}

}  // namespace
}  // namespace pooljit::runtime
