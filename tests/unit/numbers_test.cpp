// The numbers that kernels of several pools are compared on; those of one: tests/unit/first_use_test.cpp.
#include "runtime/tuning/numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/pool_spec.h"

namespace pooljit::runtime {
namespace {

// Numbers that tell of the second pool, too: the first one alone takes other schedules for right.
TEST(Numbers, TellOfEachPool) {
  const ir::PoolNest nest =
      make_nest(*frontend::parse_spec("pools(float32[1,1,1,64], max_pool2d(1), prod_pool2d([1,64]))"));
  std::array<float, 64> first{}, second{}, exact{};
  fill_telling_orders(nest, 0, ir::DType::f32, std::as_writable_bytes(std::span(first)));
  fill_telling_orders(nest, 1, ir::DType::f32, std::as_writable_bytes(std::span(second)));
  fill_with_exact_sums(nest, 0, ir::DType::f32, std::as_writable_bytes(std::span(exact)));
  EXPECT_TRUE(std::ranges::all_of(first, [](float one) { return one == 0 || std::isnan(one); }));
  EXPECT_TRUE(std::ranges::all_of(second, [](float one) { return one >= 0.5 && one < 1.5; }));
  EXPECT_TRUE(std::ranges::all_of(exact, [](float one) { return std::abs(std::log2(std::abs(one))) <= 1; }));
}

}  // namespace
}  // namespace pooljit::runtime
