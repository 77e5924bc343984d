// `pooljit bench`: the report is complete and adds up. Nothing here depends on how fast the machine is.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "jit/backend.h"
#include "tools/shell.h"

namespace pooljit::tools {
namespace {

using test::Outcome;
using test::shell;
using test::TempFolder;

TEST(Bench, JsonHoldsEveryNumber) {
  const TempFolder folder;
  const Outcome outcome = shell(
      "$P bench 'max_pool2d(float32[2,16,20,20]:nhwc, kernel_size=2, return_indices=True)' --threads 1 "
      "--json",
      folder);
  ASSERT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["bytes_read"], 2 * 16 * 20 * 20 * 4);
  EXPECT_EQ(report["bytes_written"], 2 * 16 * 10 * 10 * (4 + 8));
  EXPECT_EQ(report["threads"], 1);
  EXPECT_EQ(report["differences_to_plain_loop"], 0);
  EXPECT_GT(report["code_bytes"], 0);
  for (const char* timing : {"compile", "cache_hit", "call", "copy", "streaming_copy", "plain_loop"}) {
    EXPECT_GT(report[timing]["median_seconds"], 0) << timing;
    EXPECT_LE(report[timing]["first_quartile_seconds"], report[timing]["median_seconds"]) << timing;
    EXPECT_GE(report[timing]["samples"], 5) << timing;
  }
  for (const char* slow : {"call_99th_percentile_seconds", "copy_99th_percentile_seconds"})
    EXPECT_GT(report[slow], 0) << slow;
  const double call = report["call"]["median_seconds"], plain = report["plain_loop"]["median_seconds"];
  EXPECT_DOUBLE_EQ(report["speedup_over_plain_loop"], plain / call);
  EXPECT_DOUBLE_EQ(report["bytes_per_second"].get<double>() * call, 2 * 16 * (400 * 4 + 100 * 12));
}

// The plain loop clamps what a divisor of fewer than the taps brings out of range, as semantics.md says.
TEST(Bench, AveragesThatLeaveTheirRangeAreThePlainLoopsToo) {
  const TempFolder folder;
  for (const char* spec : {"avg_pool2d(uint8[1,5,12,19], kernel_size=3, divisor_override=2)",
                           "avg_pool3d(int16[1,5,3,12,19]:nhwc, kernel_size=2, divisor_override=-3)",
                           "avg_pool2d(int64[1,5,12,19], kernel_size=2, divisor_override=3)"}) {
    const Outcome outcome = shell(std::string("$P bench '") + spec + "' --threads 1 --json", folder);
    ASSERT_EQ(outcome.exit, 0) << spec << outcome.out << outcome.err;
    EXPECT_EQ(nlohmann::json::parse(outcome.out)["differences_to_plain_loop"], 0) << spec;
  }
}

TEST(Bench, EpiloguesAreMeasuredAgainstAPassOfTheirOwn) {
  const TempFolder folder;
  for (const char* spec :
       {"max_pool2d(float32[2,19,20,21], kernel_size=2, epilogue=[relu, clamp(0,1.5), scale_channel, add])",
        "max_pool2d(float64[2,19,20,21]:nhwc, kernel_size=2, epilogue=[add, mul_channel, add_channel])",
        "avg_pool2d(float32[2,19,20,21]:nhwc, kernel_size=3, epilogue=[scale(2,-3), scale_channel])",
        "max_pool2d(float32[2,19,20,21], kernel_size=2, output_strides=[10000,1,500,40], epilogue=[add])"}) {
    const Outcome outcome = shell(std::string("$P bench '") + spec + "' --threads 1 --json", folder);
    ASSERT_EQ(outcome.exit, 0) << spec << outcome.out << outcome.err;
    const auto report = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(report["differences_to_plain_loop"], 0) << spec;
    EXPECT_GT(report["bytes_read"], 2 * 19 * 20 * 21 * 4) << spec;
    EXPECT_GT(report["copy"]["median_seconds"], 0) << spec;
  }
}

TEST(Bench, WhatThePlainLoopDoesNotDoIsMeasuredWithoutIt) {
  const TempFolder folder;
  for (const char* spec : {"max_pool2d(float32[1,2,4,4], kernel_size=2, epilogue=[add(float64)])",
                           "max_pool2d(bfloat16[1,2,4,4], kernel_size=2, epilogue=[relu])",
                           "pools(float32[1,2,4,4], max_pool2d(2), avg_pool2d(2, output_dtype=float64))"}) {
    const Outcome outcome = shell(std::string("$P bench '") + spec + "' --threads 1", folder);
    EXPECT_EQ(outcome.exit, 0) << spec << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find("\n  plain loop  left out: "), std::string::npos) << outcome.out;
  }
}

TEST(Bench, TextNamesWhatWasMeasured) {
  const TempFolder folder;
  const std::string backend(jit::backends().back().text);
  const Outcome outcome = shell(
      "$P bench 'avg_pool1d(uint8[3,50], kernel_size=3, strides=[128,2])' --isa avx2 --backend " + backend,
      folder);
  ASSERT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  for (const char* line :
       {"engine", "schedule", "code", "compile", "cache hit", "call", "copy", "plain loop", "99 of 100"})
    EXPECT_NE(outcome.out.find(std::string("\n  ") + line), std::string::npos) << line << "\n" << outcome.out;
  EXPECT_NE(outcome.out.find(backend + " avx2, 1 thread\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("same results"), std::string::npos) << outcome.out;
}

TEST(Bench, ABatchOfNothingIsRefused) {
  const TempFolder folder;
  const Outcome outcome = shell("$P bench 'max_pool1d(float32[0,3,9], kernel_size=2)'", folder);
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_NE(outcome.err.find("bench.empty"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace pooljit::tools
