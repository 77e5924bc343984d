// What prod_pool means: the oracle's products, and how far an engine's may be from them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "frontend/dialects.h"
#include "frontend/geometry.h"
#include "ir/agreement.h"
#include "ir/reference.h"

namespace pooljit::ir {
namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

template <typename T, typename Out = T>
std::vector<Out> products(const std::string& text, const std::vector<T>& input) {
  const auto spec = frontend::parse_spec(text);
  size_t elements = 1;
  for (const int64_t extent : frontend::output_shape(spec.value())) elements *= static_cast<size_t>(extent);
  std::vector<Out> output(elements);
  evaluate(frontend::make_nest(*spec), 1, input.data(), output.data(), nullptr);
  return output;
}

TEST(Product, OfFloats) {
  const auto found = products<float>("prod_pool1d(float32[1,10], 2)",
                                     {3, -4, 0, infinite, 2, not_a_number, 0, -5, infinite, -1});
  EXPECT_EQ(found[0], -12);
  EXPECT_TRUE(std::isnan(found[1]) && std::isnan(found[2]));
  EXPECT_TRUE(found[3] == 0 && std::signbit(found[3]));
  EXPECT_EQ(found[4], -infinite);
}

TEST(Product, OfNoTapIsOne) {
  EXPECT_EQ(products<float>("prod_pool1d(float32[1,1], 1, stride=1, padding=1)", {3}),
            (std::vector<float>{1, 3, 1}));
  EXPECT_EQ(products<int8_t>("prod_pool1d(int8[1,1], 1, stride=1, padding=1)", {-3}),
            (std::vector<int8_t>{1, -3, 1}));
}

TEST(Product, OfIntegersWrapsInTheBitsOfTheOutput) {
  const std::vector<uint8_t> bytes = {16, 17, 255, 255};
  EXPECT_EQ(products<uint8_t>("prod_pool1d(uint8[1,4], 2)", bytes), (std::vector<uint8_t>{16, 1}));
  EXPECT_EQ((products<uint8_t, int32_t>("prod_pool1d(uint8[1,4], 2, output_dtype=int32)", bytes)),
            (std::vector<int32_t>{272, 65025}));
  EXPECT_EQ(products<int8_t>("prod_pool1d(int8[1,5], 3, padding=1)", {-100, 3, 2, 5, -7}),
            (std::vector<int8_t>{-44, -70}));
  EXPECT_EQ((products<int64_t, int8_t>("prod_pool1d(int64[1,2], 2, output_dtype=int8)", {257, 130})),
            (std::vector<int8_t>{-126}));
}

TEST(Product, OfIntegersThatBecomeFloatsWrapsIn64Bits) {
  constexpr int64_t half = int64_t{1} << 62;
  EXPECT_EQ(products<int64_t>("prod_pool1d(int64[1,4], 2)", {half, 4, half, 3}),
            (std::vector<int64_t>{0, -half}));
  EXPECT_EQ((products<int64_t, float>("prod_pool1d(int64[1,2], 2, output_dtype=float32)", {half, 2})),
            (std::vector<float>{-0x1p63F}));
  EXPECT_EQ((products<int32_t, double>(
                "prod_pool1d(int32[1,2], 2, epilogue=[scale(0.5,1)], output_dtype=float64)", {1 << 30, 6})),
            (std::vector<double>{3.0 * (1 << 30) + 1}));
}

// Any order of the multiplications agrees; where a part of a product may overflow or vanish, anything does.
TEST(Product, IsAsFarOffAsOrdersMakeIt) {
  const PoolNest nest = frontend::make_nest(*frontend::parse_spec("prod_pool1d(float32[1,3], 3)"));
  const auto agrees = [&](const std::vector<float>& input, float output) {
    return !disagreement(nest, 1, input.data(), &output, nullptr);
  };
  EXPECT_TRUE(agrees({3, 5, 7}, 105) && agrees({3, 5, 7}, std::nextafter(105.0F, 0.0F)));
  EXPECT_FALSE(agrees({3, 5, 7}, 104) || agrees({3, 5, 7}, 35) || agrees({3, 5, 7}, not_a_number));
  EXPECT_TRUE(agrees({1e30F, 1e30F, 1e-30F}, infinite));
  EXPECT_TRUE(agrees({1e-30F, 1e-30F, infinite}, not_a_number));
  EXPECT_FALSE(agrees({2, -infinite, 3}, infinite) || agrees({2, infinite, 3}, 6));
  EXPECT_FALSE(agrees({0, infinite, 3}, infinite) || agrees({not_a_number, 0, 1}, 0));
  EXPECT_FALSE(agrees({0, 5, 7}, 1));
}

}  // namespace
}  // namespace pooljit::ir
