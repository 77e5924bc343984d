// The oracle against tables worked out by hand, and the judge of what engines may return.
#include "ir/reference.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "frontend/pool_spec.h"
#include "ir/agreement.h"
#include "ir/error_bounds.h"
#include "ir/half.h"

namespace pooljit::ir {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
const float nan_a = std::bit_cast<float>(0x7fc00001), nan_b = std::bit_cast<float>(0x7fc00002);

template <typename T>
struct Pooled {
  std::vector<T> values;
  std::vector<int64_t> indices;
};

// Evaluates a spec on packed data. Strided specs get `gap` for what is not written.
template <typename T, typename Out = T>
Pooled<Out> pool(const std::string& text, const std::vector<T>& input, size_t output_elements = 0,
                 Out gap = Out{99}) {
  const auto spec = frontend::parse_spec(text);
  if (!spec) throw std::runtime_error(to_string(spec.error()));
  const PoolNest nest = frontend::make_nest(*spec);
  size_t elements = 1;
  for (int64_t extent : frontend::output_shape(*spec)) elements *= static_cast<size_t>(extent);
  if (output_elements == 0) output_elements = elements;
  Pooled<Out> result = {std::vector<Out>(output_elements, gap), {}};
  if (nest.indices) result.indices.assign(output_elements, -99);
  evaluate(nest, spec->batch.value_or(1), input.data(), result.values.data(), result.indices.data());
  return result;
}

std::vector<uint32_t> bits(const std::vector<float>& values) {
  std::vector<uint32_t> result;
  for (float value : values) result.push_back(std::bit_cast<uint32_t>(value));
  return result;
}

using Indices = std::vector<int64_t>;
using Floats = std::vector<float>;
using Bytes = std::vector<uint8_t>;

TEST(ReferenceMax, RectangularWindows) {
  const auto result =
      pool<float>("max_pool2d(float32[1,3,4], kernel_size=[2,3], stride=1, return_indices=True)",
                  {1, 2, 3, 4, 8, 7, 6, 5, 0, 9, 0, 9});
  EXPECT_EQ(result.values, (Floats{8, 7, 9, 9}));
  EXPECT_EQ(result.indices, (Indices{4, 5, 9, 9}));
}

TEST(ReferenceMax, TiesGoToTheFirstTapInRowMajorOrder) {
  const auto result = pool<float>("max_pool2d(float32[1,2,2], 2, return_indices=True)", {1, 5, 5, 5});
  EXPECT_EQ(result.values, Floats{5});
  EXPECT_EQ(result.indices, Indices{1});
}

TEST(ReferenceMax, ZerosOfBothSignsAreEqual) {
  const auto result =
      pool<float>("max_pool1d(float32[1,4], 2, return_indices=True)", {-0.0f, 0.0f, 0.0f, -0.0f});
  EXPECT_EQ(bits(result.values), bits({-0.0f, 0.0f}));
  EXPECT_EQ(result.indices, (Indices{0, 2}));
}

TEST(ReferenceMax, TheLastNanWins) {
  const auto result =
      pool<float>("max_pool1d(float32[1,8], 4, return_indices=True)", {nan_a, 7, nan_b, inf, 1, nan_b, 2, 3});
  EXPECT_EQ(bits(result.values), bits({nan_b, nan_b}));
  EXPECT_EQ(result.indices, (Indices{2, 5}));
}

TEST(ReferenceMax, IgnoredNansNeverWin) {
  const auto result = pool<float>("max_pool1d(float32[1,9], 3, nan=ignore, return_indices=True)",
                                  {nan_a, 7, nan_b, nan_a, nan_a, nan_a, nan_a, -inf, nan_a});
  EXPECT_EQ(result.values, (Floats{7, -inf, -inf}));
  EXPECT_EQ(result.indices, (Indices{1, 3, 6}));
}

TEST(ReferenceMax, AllMinusInfinityTakesTheFirstTapInTheImage) {
  const auto result = pool<float>("max_pool1d(float32[1,4], 3, stride=2, padding=1, return_indices=True)",
                                  {-inf, -inf, -inf, -inf});
  EXPECT_EQ(result.values, (Floats{-inf, -inf}));
  EXPECT_EQ(result.indices, (Indices{0, 1}));
}

TEST(ReferenceMax, EmptyWindowsHaveNoIndex) {
  const auto floats =
      pool<float>("max_pool1d(float32[1,1], 1, stride=1, padding=1, return_indices=True)", {3});
  EXPECT_EQ(floats.values, (Floats{-inf, 3, -inf}));
  EXPECT_EQ(floats.indices, (Indices{-1, 0, -1}));
  const auto bytes =
      pool<uint8_t>("max_pool1d(uint8[1,1], 1, stride=1, padding=1, return_indices=True)", {3});
  EXPECT_EQ(bytes.values, (Bytes{0, 3, 0}));
  EXPECT_EQ(bytes.indices, (Indices{-1, 0, -1}));
}

TEST(ReferenceMax, DilationMayLeaveAWindowWithoutTaps) {
  // Taps at -1 and 2 around an image of 2.
  const auto result = pool<float>(
      "max_pool1d(float32[1,2], 2, stride=1, padding=1, dilation=3, return_indices=True)", {5, 6});
  EXPECT_EQ(result.values, Floats{-inf});
  EXPECT_EQ(result.indices, Indices{-1});
}

TEST(ReferenceMax, PaddingNeverWins) {
  EXPECT_EQ(pool<float>("max_pool1d(float32[1,2], 3, stride=1, padding=1)", {-5, -6}).values,
            (Floats{-5, -5}));
}

TEST(ReferenceMax, CeilDropsTheWindowThatWouldBeginBehindTheInput) {
  Bytes input(17);
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<uint8_t>(i);
  EXPECT_EQ(pool<uint8_t>("max_pool1d(uint8[1,17], 2, padding=1, ceil_mode=True)", input).values,
            (Bytes{0, 2, 4, 6, 8, 10, 12, 14, 16}));
}

TEST(ReferenceMax, ANegativeEndPadCrops) {
  const auto result = pool<float>("max_pool1d(float32[1,4], 2, stride=1, padding=[0,-1])", {1, 2, 3, 9});
  EXPECT_EQ(result.values, (Floats{2, 3}));
}

TEST(ReferenceMax, IndicesCountInThePlaneWhateverTheLayout) {
  // Two channels, 2x2, channels last.
  const auto result =
      pool<float>("max_pool2d(float32[2,2,2]:nhwc, 2, return_indices=True)", {1, 8, 2, 7, 4, 6, 3, 5});
  EXPECT_EQ(result.values, (Floats{4, 8}));
  EXPECT_EQ(result.indices, (Indices{2, 0}));
}

TEST(ReferenceMax, StridedViewsLeaveTheGapsAlone) {
  const auto result = pool<float>(
      "max_pool1d(float32[2,2,2], 2, strides=[0,2,1], output_strides=[1,3,1], return_indices=True)",
      {1, 2, 4, 3}, 5);
  EXPECT_EQ(result.values, (Floats{2, 2, 99, 4, 4}));
  EXPECT_EQ(result.indices, (Indices{1, 1, -99, 0, 0}));
}

TEST(ReferenceMax, DeepIndices) {
  Floats input(2 * 3 * 4, 0);
  input[1 * 12 + 2 * 4 + 3] = 1;
  EXPECT_EQ(pool<float>("max_pool3d(float32[1,2,3,4], [2,3,4], return_indices=True)", input).indices,
            Indices{23});
}

TEST(ReferenceAvg, DivisorsWithAndWithoutPadding) {
  const Floats ones(4, 1);
  EXPECT_EQ(pool<float>("avg_pool1d(float32[1,4], 2, 2, 1)", ones).values, (Floats{0.5, 1, 0.5}));
  EXPECT_EQ(pool<float>("avg_pool1d(float32[1,4], 2, 2, 1, count_include_pad=False)", ones).values,
            (Floats{1, 1, 1}));
  EXPECT_EQ(pool<float>("avg_pool1d(float32[1,4], 2, 2, 1, divisor_override=-4)", ones).values,
            (Floats{-0.25, -0.5, -0.25}));
}

TEST(ReferenceAvg, TheLastCeilWindowCountsOnlyThePaddedExtent) {
  // Windows of 3 at -1, 1, 3; the last one sees input 3 and one pad, and ends beyond it.
  EXPECT_EQ(pool<float>("avg_pool1d(float32[1,4], 3, 2, 1, ceil_mode=True)", {1, 1, 1, 1}).values,
            (Floats{2.0f / 3, 1, 0.5}));
}

TEST(ReferenceAvg, DilatedTapsAreCounted) {
  // Taps at -1, 1, 3 and 0, 2, 4 of four.
  EXPECT_EQ(
      pool<float>("avg_pool1d(float32[1,4], 3, 1, 1, dilation=2, count_include_pad=False)", {1, 2, 4, 8})
          .values,
      (Floats{5, 2.5}));
}

TEST(ReferenceAvg, EmptyWindowsAreZero) {
  EXPECT_EQ(pool<float>("avg_pool1d(float32[1,1], 1, 1, 1)", {3}).values, (Floats{0, 3, 0}));
}

TEST(ReferenceAvg, NanAndInfinityFollowArithmetic) {
  const auto result = pool<float>("avg_pool1d(float32[1,6], 2)", {1, nan_a, inf, -inf, inf, 1}).values;
  EXPECT_TRUE(std::isnan(result[0]));
  EXPECT_TRUE(std::isnan(result[1]));
  EXPECT_EQ(result[2], inf);
}

TEST(ReferenceAvg, FiveMillionTenthsAverageToATenth) {
  const Floats tenths(5'000'000, 0.1f);
  EXPECT_EQ(pool<float>("avg_pool1d(float32[1,5000000], 5000000)", tenths).values, Floats{0.1f});
}

TEST(ReferenceAvg, BytesRoundToNearestEven) {
  EXPECT_EQ(pool<uint8_t>("avg_pool1d(uint8[1,8], 2)", {0, 1, 1, 2, 254, 255, 255, 255}).values,
            (Bytes{0, 2, 254, 255}));
  EXPECT_EQ(pool<uint8_t>("avg_pool1d(uint8[1,3], 3)", {1, 1, 3}).values, Bytes{2});
}

// TFLite's example: https://github.com/tensorflow/tensorflow/blob/master/tensorflow/lite/kernels/internal/
// reference/integer_ops/pooling.h adds half a divisor of the sum's sign, and divides towards zero.
TEST(ReferenceAvg, TiesGoAwayFromZeroWhereAsked) {
  const std::vector<int8_t> input = {1, 0, 3, 2, 2, 3, -1, 0, -3, -2};
  EXPECT_EQ(pool<int8_t>("avg_pool1d(int8[1,10], 2)", input).values, (std::vector<int8_t>{0, 2, 2, 0, -2}));
  EXPECT_EQ(pool<int8_t>("avg_pool1d(int8[1,10], 2, rounding=half_away)", input).values,
            (std::vector<int8_t>{1, 3, 3, -1, -3}));
  EXPECT_EQ(pool<int8_t>("avg_pool1d(int8[1,2], 2, divisor_override=-2, rounding=half_away)", {2, 3}).values,
            std::vector<int8_t>{-3});
  EXPECT_EQ(
      pool<int8_t>("avg_pool1d(int8[1,4], 2, rounding=half_away, epilogue=[clamp(-100,2)])", {2, 3, -2, -3})
          .values,
      (std::vector<int8_t>{2, -3}));
  EXPECT_EQ(pool<int8_t>("quantized_avg_pool1d(qint8[1,4], 2, scale=0.5, zero_point=4, output_scale=1, "
                         "output_zero_point=0, rounding=half_away)",
                         {5, 5, 3, 3})
                .values,
            (std::vector<int8_t>{1, -1}));
}

TEST(ReferenceAvg, BytesSaturate) {
  EXPECT_EQ(pool<uint8_t>("avg_pool1d(uint8[1,2], 2, divisor_override=1)", {200, 100}).values, Bytes{255});
  EXPECT_EQ(pool<uint8_t>("avg_pool1d(uint8[1,2], 2, divisor_override=-3)", {200, 100}).values, Bytes{0});
}

TEST(ReferenceMin, MirrorsMax) {
  const auto result = pool<float>("min_pool1d(float32[1,8], 4)", {nan_a, 7, nan_b, inf, 1, -2, -2, 3});
  EXPECT_TRUE(std::isnan(result.values[0]));
  EXPECT_EQ(result.values[1], -2);
  EXPECT_EQ(pool<float>("min_pool1d(float32[1,1], 1, stride=1, padding=1)", {3}).values,
            (Floats{inf, 3, inf}));
  EXPECT_EQ(pool<uint8_t>("min_pool1d(uint8[1,1], 1, stride=1, padding=1)", {3}).values,
            (Bytes{255, 3, 255}));
}

TEST(ReferenceSum, SaturatesUnlessTheOutputIsWider) {
  const std::vector<int8_t> input = {100, 100, -100, -100, 1, 2};
  EXPECT_EQ(pool<int8_t>("sum_pool1d(int8[1,6], 2)", input).values, (std::vector<int8_t>{127, -128, 3}));
  EXPECT_EQ((pool<int8_t, int32_t>("sum_pool1d(int8[1,6], 2, output_dtype=int32)", input).values),
            (std::vector<int32_t>{200, -200, 3}));
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(pool<int64_t>("sum_pool1d(int64[1,4], 2)", {most, most, most, -most}).values,
            (std::vector<int64_t>{most, 0}));
}

TEST(ReferenceLp, Norms) {
  const Floats input = {3, -4, 0, nan_a};
  const Floats one = pool<float>("lp_pool1d(float32[1,4], 1, 2)", input).values;
  EXPECT_EQ(one[0], 7);
  EXPECT_TRUE(std::isnan(one[1]));
  EXPECT_EQ(pool<float>("lp_pool1d(float32[1,4], 2, 2)", input).values[0], 5);
  EXPECT_EQ(pool<float>("lp_pool1d(float32[1,4], inf, 2)", input).values[0], 4);
  EXPECT_TRUE(std::isnan(pool<float>("lp_pool1d(float32[1,4], inf, 2)", input).values[1]));
  EXPECT_FLOAT_EQ(pool<float>("lp_pool1d(float32[1,4], 3, 2)", input).values[0], std::cbrt(91.0f));
  EXPECT_EQ(pool<float>("lp_pool1d(float32[1,1], 1, kernel_size=1, stride=1, padding=1)", {3}).values,
            (Floats{0, 3, 0}));
}

TEST(ReferenceConversion, RoundsToNearestEvenAndSaturates) {
  EXPECT_EQ((pool<float, uint8_t>("max_pool1d(float32[1,6], 1, output_dtype=uint8)",
                                  {0.5f, 1.5f, -3, 300, inf, nan_a})
                 .values),
            (Bytes{0, 2, 0, 255, 255, 0}));
  EXPECT_EQ(
      (pool<float, int32_t>("max_pool1d(float32[1,3], 1, output_dtype=int32)", {-2.5f, 3e9f, -inf}).values),
      (std::vector<int32_t>{-2, std::numeric_limits<int32_t>::max(),
                            std::numeric_limits<int32_t>::lowest()}));
  EXPECT_EQ(
      (pool<uint8_t, float>("avg_pool1d(uint8[1,4], 2, output_dtype=float32)", {1, 2, 255, 255}).values),
      (Floats{1.5f, 255}));
}

TEST(ReferenceQuantized, MaxComparesStoredIntegers) {
  // torch's own example: scale 1.5, zero point 3; padding is absent, never 0 or 3.
  EXPECT_EQ(pool<uint8_t>("quantized_max_pool2d(quint8[2,2,2,2], kernel_size=2, scale=1.5, zero_point=3)",
                          {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
                .values,
            (Bytes{3, 7, 11, 15}));
}

TEST(ReferenceQuantized, AverageRoundsOnce) {
  // Real values 0.5 * (10 - 3), 0.5 * (13 - 3): mean 4.25, in steps of 0.25 from 7: 24.
  EXPECT_EQ(pool<uint8_t>("quantized_avg_pool1d(quint8[1,2], 2, scale=0.5, zero_point=3, output_scale=0.25, "
                          "output_zero_point=7)",
                          {10, 13})
                .values,
            Bytes{24});
  // An s8 2x7 window that sums to -1771 is -126.5: to even.
  std::vector<int8_t> window(14, -127);
  window[0] = -120;
  EXPECT_EQ(pool<int8_t>("quantized_avg_pool2d(qint8[1,2,7], [2,7])", window).values,
            (std::vector<int8_t>{-126}));
}

TEST(Agreement, OneAndTheSameResultAgrees) {
  const PoolNest nest = frontend::make_nest(*frontend::parse_spec("max_pool1d(float32[1,4], 2)"));
  const Floats input = {1, 2, nan_a, 3}, output = {2, nan_b}, wrong = {2, 3};
  EXPECT_EQ(disagreement(nest, 1, input.data(), output.data(), nullptr), std::nullopt);  // any NaN
  EXPECT_NE(disagreement(nest, 1, input.data(), wrong.data(), nullptr), std::nullopt);
}

TEST(Agreement, TheSignOfZeroMattersOnlyWhereItIsSpecified) {
  const Floats input = {-0.0f, 0.0f}, output = {0.0f};
  const auto judge = [&](const char* text) {
    const int64_t index = 0;
    return disagreement(frontend::make_nest(*frontend::parse_spec(text)), 1, input.data(), output.data(),
                        &index);
  };
  EXPECT_EQ(judge("max_pool1d(float32[1,2], 2)"), std::nullopt);
  EXPECT_NE(judge("max_pool1d(float32[1,2], 2, zeros=first)"), std::nullopt);
  EXPECT_NE(judge("max_pool1d(float32[1,2], 2, return_indices=True)"), std::nullopt);
}

template <typename Half>
std::vector<Half> halves(const Floats& values) {
  return {values.begin(), values.end()};
}

TEST(ReferenceMax, HalvesAreComparedAsNumbers) {
  const auto pooled = pool<BFloat16>("max_pool1d(bfloat16[1,6], 2, return_indices=True)",
                                     halves<BFloat16>({-0.0F, 0.0F, -2, -1, -inf, nan_a}));
  EXPECT_EQ(pooled.values[0].bits, 0x8000);
  EXPECT_EQ(pooled.values[1].bits, 0xbf80);
  EXPECT_EQ(pooled.values[2].bits, 0x7fc0);
  EXPECT_EQ(pooled.indices, (Indices{0, 3, 5}));
}

// (1 + 1.0009765625) / 2 lies in the middle of two halves: to the even one. Sums may exceed what a half
// holds.
TEST(ReferenceAvg, HalvesAreRoundedOnce) {
  const auto pooled = pool<Float16>("avg_pool1d(float16[1,6], 2)",
                                    halves<Float16>({1, 1.0009765625F, 65504, 65504, 0x1p-24F, 0}));
  EXPECT_EQ(pooled.values[0].bits, 0x3c00);
  EXPECT_EQ(pooled.values[1].bits, 0x7bff);
  EXPECT_EQ(pooled.values[2].bits, 0x0000);
}

TEST(Agreement, AveragesOfHalvesMayBeOffByARounding) {
  const PoolNest nest = frontend::make_nest(*frontend::parse_spec("avg_pool1d(float16[1,3], 3)"));
  const auto input = halves<Float16>({1, 2, 4});  // 7/3 is 0x40ab
  for (const uint16_t bits : {0x40a9, 0x40aa, 0x40ab, 0x40ac, 0x40ad}) {
    const Float16 output = Float16::from_bits(bits);
    const bool is_near = bits >= 0x40aa && bits <= 0x40ac;
    EXPECT_EQ(disagreement(nest, 1, input.data(), &output, nullptr).has_value(), !is_near) << bits;
  }
}

TEST(Agreement, IndicesAreCompared) {
  const PoolNest nest =
      frontend::make_nest(*frontend::parse_spec("max_pool1d(float32[1,2], 2, return_indices=True)"));
  const Floats input = {4, 4}, output = {4};
  const int64_t first = 0, second = 1;
  EXPECT_EQ(disagreement(nest, 1, input.data(), output.data(), &first), std::nullopt);
  EXPECT_NE(disagreement(nest, 1, input.data(), output.data(), &second), std::nullopt);
}

TEST(Agreement, AveragesHaveABound) {
  const PoolNest nest = frontend::make_nest(*frontend::parse_spec("avg_pool1d(float32[1,3], 3)"));
  const Floats input = {1, 2, 4};
  const double bound = error_bounds(nest, 1, input.data())[0].error;
  EXPECT_NEAR(bound, 2 * 1.1920929e-7 * 7 / 3, 2e-7);
  const float exact = 7.0f / 3;
  for (const float factor : {-1.0f, 1.0f}) {
    const Floats near = {exact + factor * static_cast<float>(bound) * 0.8f};
    const Floats far = {exact + factor * static_cast<float>(bound) * 1.5f};
    EXPECT_EQ(disagreement(nest, 1, input.data(), near.data(), nullptr), std::nullopt);
    EXPECT_NE(disagreement(nest, 1, input.data(), far.data(), nullptr), std::nullopt);
  }
}

TEST(Agreement, BoundsLieWhereTheOutputsDo) {
  const PoolNest nest = frontend::make_nest(*frontend::parse_spec("avg_pool1d(float32[2,2,2]:nhwc, 2)"));
  // n0: (c0, c1) = (0, 1), (0, 1); n1: (0, 0), (8, 0)
  std::vector<double> bounds;
  for (const ErrorBound& bound : error_bounds(nest, 2, Floats{0, 1, 0, 1, 0, 0, 8, 0}.data()))
    bounds.push_back(bound.error);
  ASSERT_EQ(bounds.size(), 4u);
  EXPECT_LT(bounds[0], 1e-40);
  EXPECT_GT(bounds[1], 1e-8);
  EXPECT_GT(bounds[2], 1e-8);
  EXPECT_LT(bounds[3], 1e-40);
}

TEST(Agreement, AnOverflowingSumMayBeAnything) {
  const PoolNest nest = frontend::make_nest(*frontend::parse_spec("avg_pool1d(float32[1,2], 2)"));
  const Floats input = {3e38f, 3e38f}, output = {inf};
  EXPECT_EQ(disagreement(nest, 1, input.data(), output.data(), nullptr), std::nullopt);
}

TEST(Agreement, OneTapIsExact) {
  const PoolNest nest =
      frontend::make_nest(*frontend::parse_spec("avg_pool1d(float32[1,1], 1, divisor_override=3)"));
  const Floats input = {1}, exact = {1.0f / 3}, off = {std::nextafter(1.0f / 3, 1.0f)};
  EXPECT_EQ(disagreement(nest, 1, input.data(), exact.data(), nullptr), std::nullopt);
  EXPECT_NE(disagreement(nest, 1, input.data(), off.data(), nullptr), std::nullopt);
}

}  // namespace
}  // namespace pooljit::ir
