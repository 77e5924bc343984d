// The sign of sums, averages and gradients that are zero (docs/semantics.md): the oracle's is +, kernels may
// give either.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "frontend/pool_spec.h"
#include "ir/agreement.h"

namespace pooljit::ir {
namespace {

struct Judged {
  bool is_negative;                        // the oracle's
  std::optional<std::string> minus, plus;  // what it says of -0 and of +0
};
Judged judged(const std::string& text) {
  const PoolNest nest = frontend::make_nest(*frontend::parse_spec(text));
  const float minus = -0.0f, plus = 0.0f;
  const int64_t index = 0;
  Judge judge(nest, 1, &minus, &index);
  float expected = 1;
  std::memcpy(&expected, judge.output().data(), sizeof expected);
  return {std::signbit(expected), judge.disagreement(&minus, nullptr), judge.disagreement(&plus, nullptr)};
}

TEST(ZeroSums, HaveEitherSign) {
  for (const char* text : {"avg_pool1d(float32[1,1], 1)", "sum_pool1d(float32[1,1], 1)",
                           "avg_pool1d_backward(float32[1,1], 1)", "sum_pool1d_backward(float32[1,1], 1)",
                           "max_pool1d_backward(float32[1,1], 1)", "min_pool1d_backward(float32[1,1], 1)"}) {
    const Judged one = judged(text);
    EXPECT_FALSE(one.is_negative) << text;
    EXPECT_EQ(one.minus, std::nullopt) << text;
    EXPECT_EQ(one.plus, std::nullopt) << text;
  }
}

TEST(ZeroSums, DoNotFreeAMaximum) {
  const Judged one = judged("max_pool1d(float32[1,1], 1, zeros=first)");
  EXPECT_TRUE(one.is_negative);
  EXPECT_EQ(one.minus, std::nullopt);
  EXPECT_NE(one.plus, std::nullopt);
}

}  // namespace
}  // namespace pooljit::ir
