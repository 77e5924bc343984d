// The gradient of lp_pool: tables worked out by hand, every engine and schedule against the oracle, and the
// forward pass's differences.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "lab/check.h"
#include "pooljit.hpp"
#include "tests/c_words.h"

namespace pooljit::norm_gradient {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// x: the forward pass's input.
template <typename T>
std::vector<T> gradient(const std::string& backward, const std::string& forward, const std::vector<T>& x,
                        const std::vector<T>& of_output) {
  const Kernel pool = compile(forward), back = compile(backward);
  EXPECT_EQ(back.info().operand_count, 2);
  std::vector<T> y(pool.output_bytes() / sizeof(T)), made(back.output_bytes() / sizeof(T), T{99});
  EXPECT_EQ(y.size(), of_output.size());
  pool.run(x.data(), y.data());
  tests::run(back, of_output.data(), {.outputs = {made.data()}, .operands = {x.data(), y.data()}});
  return made;
}

struct Row {
  const char* dims;     // of the forward pass's input
  const char* options;  // of both
  std::vector<double> x, of_output, expected;
};

// What PyTorch's lp_pool gives too where no window is clipped: 0 of a window of zeros, g at a 0 with p = 1.
const Row rows[] = {
    {"1,2", "2, 2", {3, -4}, {10}, {6, -8}},
    {"1,2", "1, 2", {3, -4}, {10}, {10, -10}},
    {"1,2", "1, 2", {0, 5}, {7}, {7, 7}},
    {"1,2", "4, 2", {1, -1}, {std::pow(2, 0.75)}, {1, -1}},
    {"1,2", "0.5, 2", {4, -9}, {6}, {15, -10}},
    {"1,4", "2, 2", {0, 0, 3, 4}, {5, 5}, {0, 0, 3, 4}},  // a window of zeros
    {"1,4", "1, 2", {0, 0, 0, 4}, {5, 5}, {0, 0, 5, 5}},
    {"1,4", "3, 2", {0, 0, 0, 4}, {5, 5}, {0, 0, 0, 5}},
    {"1,4", "2.5, 2", {0, 0, 0, -4}, {5, 5}, {0, 0, 0, -5}},
    {"1,3", "2, 2, 1", {3, 4, 3}, {5, 10}, {3, 12, 6}},         // windows that overlap
    {"1,5", "2, 2", {3, 4, 6, 8, 9}, {5, 5}, {3, 4, 3, 4, 0}},  // they do not divide: none has the last
    {"1,5", "2, 2, ceil_mode=True", {3, 4, 6, 8, -9}, {5, 5, 2}, {3, 4, 3, 4, -2}},
    {"1,3", "2, 2, padding=1", {-2, 3, 4}, {7, 5}, {-7, 3, 4}},
    {"1,3", "2, 2, dilation=2", {3, 7, 4}, {5}, {3, 0, 4}},
    {"1,3", "2, 2, 1", {3, nan, 4}, {1, 1}, {nan, nan, nan}},
    {"1,4", "1, 2", {3, nan, 4, 4}, {1, 1}, {nan, nan, 1, 1}},
};

TEST(NormGradient, IsWhatIsWorkedOutByHand) {
  for (const Row& row : rows)
    for (const char* dtype : {"float32", "float64"}) {
      const std::string arguments = std::string(dtype) + "[" + row.dims + "], " + row.options + ")";
      SCOPED_TRACE(arguments);
      const bool is_double = std::string(dtype) == "float64";
      const auto found = [&]<typename T>(T) {
        const auto made =
            gradient<T>("lp_pool1d_backward(" + arguments, "lp_pool1d(" + arguments,
                        {row.x.begin(), row.x.end()}, {row.of_output.begin(), row.of_output.end()});
        return std::vector<double>(made.begin(), made.end());
      };
      const std::vector<double> made = is_double ? found(double{}) : found(float{});
      ASSERT_EQ(made.size(), row.expected.size());
      for (size_t i = 0; i < made.size(); ++i) {
        if (std::isnan(row.expected[i]))
          EXPECT_TRUE(std::isnan(made[i])) << i << ": " << made[i];
        else
          EXPECT_NEAR(made[i], row.expected[i], (is_double ? 1e-14 : 1e-6) * std::abs(row.expected[i])) << i;
      }
    }
}

// The difference quotient of the forward pass, in float64.
TEST(NormGradient, IsTheDifferenceOfTheForwardPass) {
  constexpr double step = 1e-6;
  for (const char* norm : {"0.7", "1", "1.5", "2", "3", "4.2", "17"})
    for (const char* options :
         {"[3,2], [2,1]", "3, 2, ceil_mode=True, padding=[1,0,2,1]", "2, 3, dilation=2"}) {
      const std::string arguments = "(float64[2,7,8], " + std::string(norm) + ", " + options + ")";
      SCOPED_TRACE(arguments);
      std::mt19937 random(5);
      std::vector<double> x(size_t{2} * 7 * 8);
      for (double& one : x)
        one = (0.5 + static_cast<double>(random() % 1000) / 1000) * (random() % 2 ? 1 : -1);
      const Kernel pool = compile("lp_pool2d" + arguments);
      std::vector<double> g(pool.output_bytes() / sizeof(double)), above(g.size()), below(g.size());
      for (double& one : g) one = static_cast<double>(random() % 9) - 4;
      const auto made = gradient<double>("lp_pool2d_backward" + arguments, "lp_pool2d" + arguments, x, g);
      for (size_t i = 0; i < x.size(); ++i) {
        std::vector<double> moved = x;
        moved[i] = x[i] + step, pool.run(moved.data(), above.data());
        moved[i] = x[i] - step, pool.run(moved.data(), below.data());
        double expected = 0;
        for (size_t w = 0; w < g.size(); ++w) expected += g[w] * (above[w] - below[w]) / (2 * step);
        ASSERT_NEAR(made[i], expected, 1e-7) << i;
      }
    }
}

// The fuzzer draws no gradients of norms: these are the layers that every engine and schedule is tried on.
TEST(NormGradient, AllEnginesAgree) {
  const char* const layers[] = {
      "lp_pool1d_backward(float32[2,3,50], 2, 3, 2, padding=1)",
      "lp_pool1d_backward(float64[3,41]:nhwc, 3, 4, 3, ceil_mode=True)",
      "lp_pool2d_backward(float32[2,5,13,11], 2, 2)",
      "lp_pool2d_backward(float32[2,5,13,11], 2, 3, 1, padding=1)",
      "lp_pool2d_backward(float32[1,3,9,40], 1, [2,5], [2,1])",
      "lp_pool2d_backward(float32[1,4,12,40], 3, 3, 2, ceil_mode=True)",
      "lp_pool2d_backward(float32[1,4,9,17], 2.5, 3, 2, padding=1)",
      "lp_pool2d_backward(float32[1,4,9,17], 0.5, 2)",
      "lp_pool2d_backward(float32[1,4,9,17], 20, 2, 1)",
      "lp_pool2d_backward(float32[2,19,7,8]:nhwc, 2, 3, 2, padding=1)",
      "lp_pool2d_backward(float32[2,19,7,8]:nhwc, 1.5, 2, ceil_mode=True)",
      "lp_pool2d_backward(float32[1,19,7,8]:nchw8c, 2, 2)",
      "lp_pool2d_backward(float32[1,19,7,8]:nchw16c, 4, 3, 2)",
      "lp_pool2d_backward(float32[1,3,7,8], 2, 2, output_layout=nhwc)",
      "lp_pool2d_backward(float64[1,3,9,21], 2, 3, 2, dilation=2, padding=2)",
      "lp_pool2d_backward(float16[1,3,9,21], 2, 3, 2)",
      "lp_pool2d_backward(bfloat16[1,21,9,8]:nhwc, 3, 2)",
      "lp_pool2d_backward(bfloat16[1,3,9,21], 1, 2, 1)",
      "lp_pool2d_backward(float32[1,2,6,8], 2, 2, strides=[40,20,5,1], output_strides=[300,150,20,2])",
      "lp_pool2d_backward(float32[1,2,6,8], 2, [6,8])",
      "lp_pool2d_backward(float32[1,1,40,40], 2, 33, 1)",
      "lp_pool2d_backward(float32[1,2,4,6], 2, 3, 1, padding=5, dilation=3)",
      "lp_pool3d_backward(float32[1,3,6,7,9], 2, [2,3,2], ceil_mode=True)",
      "lp_pool3d_backward(float32[1,9,4,5,6]:nhwc, 2.2, 2, 1)",
      "lp_pool2d_backward(float32[0,3,4,4], 2, 2)",
  };
  for (const char* layer : layers) {
    SCOPED_TRACE(layer);
    const auto report = runtime::check(layer, {.schedules = runtime::CheckOptions::Schedules::all});
    ASSERT_TRUE(report) << to_string(report.error());
    EXPECT_TRUE(report->ok()) << report->failure;
    EXPECT_GT(report->programs, 0);
  }
}

// Threads and parts of a batch, and a batch that is said at the run.
TEST(NormGradient, DoesNotDependOnThreads) {
  const std::string arguments = "(float32[N,6,9,10], 3, 3, 2)";
  const Kernel pool = compile("lp_pool2d" + arguments);
  const Kernel one = compile("lp_pool2d_backward" + arguments),
               two = compile("lp_pool2d_backward" + arguments, {.threads = 2});
  constexpr int64_t batch = 3;
  std::vector<float> x(batch * 6 * 9 * 10), y(batch * 6 * 4 * 4), g(y.size(), 1);
  std::iota(x.begin(), x.end(), -500.F);
  tests::run(pool, x.data(), {.outputs = {y.data()}, .batch = batch});
  std::vector<float> by_one(x.size()), by_two(x.size());
  const std::vector<const void*> operands = {x.data(), y.data()};
  tests::run(one, g.data(), {.outputs = {by_one.data()}, .operands = operands, .batch = batch});
  tests::run(two, g.data(), {.outputs = {by_two.data()}, .operands = operands, .batch = batch});
  EXPECT_EQ(by_one, by_two);
}

TEST(NormGradient, TakesTwoOperandsAndNoInfiniteNorm) {
  const Kernel back = compile("lp_pool2d_backward(float32[1,1,4,4], 2, 2)");
  EXPECT_EQ(back.info().operand_bytes[0], 64);
  EXPECT_EQ(back.info().operand_bytes[1], 16);
  std::vector<float> g(4), made(16);
  const auto id_of = [](const auto& fails) {
    try {
      fails();
    } catch (const Error& error) {
      return std::string(error.id());
    }
    return std::string();
  };
  EXPECT_EQ(id_of([&] { back.run(g.data(), made.data()); }), "run.operands");
  EXPECT_EQ(id_of([&] { compile("lp_pool2d_backward(float32[1,1,4,4], inf, 2)"); }),
            "spec.unsupported_option");
  EXPECT_EQ(id_of([&] { compile("lp_pool2d_backward(int32[1,1,4,4], 2, 2)"); }), "spec.unsupported_dtype");
}

}  // namespace
}  // namespace pooljit::norm_gradient
