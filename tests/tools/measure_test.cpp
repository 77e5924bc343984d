// Timing: quartiles, turns, and that the yardstick touches what it says.
#include "tools/measure.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <regex>
#include <vector>

#include "tools/bandwidth.h"
#include "tools/buffer.h"
#include "tools/parallel.h"

namespace pooljit::tools {
namespace {

TEST(Measure, QuartilesAreInterpolated) {
  const Timing timing = summarize({5, 1, 2, 4, 3});
  EXPECT_EQ(timing.median, 3);
  EXPECT_EQ(timing.first_quartile, 2);
  EXPECT_EQ(timing.third_quartile, 4);
  EXPECT_EQ(timing.samples, 5);
  EXPECT_DOUBLE_EQ(timing.spread(), 1.0 / 3);
  EXPECT_EQ(summarize({1, 2}).median, 1.5);
}

// Each round has everybody once, not always in the same order.
TEST(Measure, SamplesTakeTurns) {
  std::string order;
  const std::function<void()> contenders[] = {[&] { order += 'a'; }, [&] { order += 'b'; }};
  constexpr int rounds = 20;
  const auto timings = measure(contenders, {.sample_seconds = 0,
                                            .budget_seconds = 0,
                                            .fewest_samples = rounds,
                                            .most_samples = rounds,
                                            .settle_seconds = 0});
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[0].samples, rounds);
  const std::string turns = order.substr(order.size() - 2 * rounds);
  EXPECT_TRUE(std::regex_match(turns, std::regex("(ab|ba)*"))) << turns;
  EXPECT_NE(turns.find("aa"), std::string::npos) << turns;
}

TEST(Measure, UntimedCallsComeBeforeEachSample) {
  std::string order;
  const std::function<void()> contenders[] = {[&] { order += 'a'; }, [&] { order += 'b'; }};
  const auto samples = measure_samples(contenders, {.sample_seconds = 0,
                                                    .budget_seconds = 0,
                                                    .fewest_samples = 3,
                                                    .most_samples = 3,
                                                    .settle_seconds = 1e-9});
  EXPECT_EQ(samples[0].seconds.size(), 3U);
  EXPECT_TRUE(std::regex_search(order, std::regex("((aa+bb+)|(bb+aa+)){3}$"))) << order;
}

// A watch that the contenders move: so much time each, and once in so many calls another thread on the core.
struct Moved {
  double now = 0;
  int64_t preempted = 0;
  const runtime::Stopwatch watch{[this] { return now; }, [this] { return preempted; }};
};

TEST(Measure, ARoundThatWasPreemptedIsDoneAgain) {
  for (const int most : {0, 2, 5}) {
    Moved moved;
    int calls = 0;
    const std::function<void()> contenders[] = {[&] { moved.now += 1; },
                                                [&] {
                                                  const bool is_late = ++calls > 1 && calls <= 4;
                                                  moved.now += is_late ? 100 : 2;
                                                  moved.preempted += is_late;
                                                }};
    const auto samples = measure_samples(contenders, {.sample_seconds = 0,
                                                      .budget_seconds = 0,
                                                      .fewest_samples = 4,
                                                      .settle_seconds = 0,
                                                      .is_warm = true,
                                                      .most_repeats = most,
                                                      .watch = moved.watch});
    EXPECT_EQ(samples[0].repeats, std::min(most, 3)) << most;
    EXPECT_EQ(samples[0].seconds, std::vector<double>(4, 1.0)) << most;
    // What was not done again counts.
    EXPECT_EQ(std::ranges::count(samples[1].seconds, 100.0), 3 - std::min(most, 3)) << most;
  }
}

TEST(Measure, ABudgetEndsTheRounds) {
  Moved moved;
  const std::function<void()> contenders[] = {[&] { moved.now += 1; }};
  const auto samples = measure_samples(contenders, {.sample_seconds = 1,
                                                    .budget_seconds = 9.5,
                                                    .fewest_samples = 3,
                                                    .settle_seconds = 0,
                                                    .is_warm = true,
                                                    .watch = moved.watch});
  EXPECT_EQ(samples[0].seconds.size(), 10U);
}

TEST(Measure, AQuantileIsOfSingleCalls) {
  int calls = 0;
  EXPECT_GT(call_quantile([&] { ++calls; }, 1, 0), 0);
  EXPECT_EQ(calls, 100);
}

TEST(Parallel, PlainThreadsShareTheTasksOut) {
  for (const int threads : {1, 2, 5})
    for (const int64_t tasks : {int64_t{0}, int64_t{3}, int64_t{64}})
      for (int round = 0; round < 20; ++round) {
        std::vector<std::atomic<int>> counts(static_cast<size_t>(tasks));
        in_parallel(threads, tasks, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++counts[size_t(i)];
        });
        EXPECT_EQ(std::vector<int>(counts.begin(), counts.end()), std::vector<int>(size_t(tasks), 1));
      }
}

TEST(Bandwidth, AllOfTheOutputIsWrittenAndNothingElse) {
  for (const size_t output_bytes : {size_t{0}, size_t{64}, size_t{1 << 14}, size_t{100096}})
    for (const bool streaming : {false, true})
      for (const size_t parts : {1, 3}) {
        Buffer input = *Buffer::allocate(1 << 16), output = *Buffer::allocate(output_bytes + 64);
        std::memset(input.data(), 0, input.size());
        std::memset(output.data(), 0x55, output.size());
        for (size_t part = 0; part < parts; ++part)
          copy_part({input.data(), input.size(), output.data(), output_bytes}, part, parts, streaming);
        for (size_t i = 0; i < output.size(); ++i)
          ASSERT_EQ(output.data()[i] == std::byte{0x55}, i >= output_bytes) << i << " of " << output_bytes;
      }
}

}  // namespace
}  // namespace pooljit::tools
