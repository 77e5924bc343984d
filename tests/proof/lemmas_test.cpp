// What the symbolic proof of Programs takes for known (ir/interp/): that integer keys have the order of
// floats, that conversions written in several operations are conversions. Here they are computed as the
// Program would, for every number where there are few enough, else for those at which they could fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "ir/half.h"
#include "ir/reference_epilogue.h"

namespace pooljit::ir {
namespace {

// ir/reductions/float_keys.h: differences wrap.
template <typename Bits>
Bits mirrored(Bits bits, Bits infinity) {
  using Word = std::make_unsigned_t<Bits>;
  return bits < 0 ? static_cast<Bits>(static_cast<Word>(infinity) - static_cast<Word>(bits)) : bits;
}

template <typename Float, typename Bits>
struct Keyed {
  Bits bits, above, below;
  double value;
  bool is_nan() const { return value != value; }
};

template <typename Float, typename Bits>
Keyed<Float, Bits> keyed(Bits bits) {
  using Word = std::make_unsigned_t<Bits>;
  const auto infinity = std::bit_cast<Bits>(std::numeric_limits<Float>::infinity());
  const Bits nans = static_cast<Bits>(std::numeric_limits<Bits>::max() - infinity);
  const Bits above = mirrored(bits, infinity);
  const Bits below = static_cast<Bits>(static_cast<Word>(above) + static_cast<Word>(nans));
  const auto value = static_cast<double>(std::bit_cast<Float>(bits));
  const Bits back = mirrored(above, infinity);
  if (value == value) {
    EXPECT_EQ(back, bits);
  } else {
    EXPECT_TRUE(std::isnan(static_cast<double>(std::bit_cast<Float>(back))));
  }
  return {bits, above, below, value};
}

// Numbers in their order, -0 below +0, have keys in the same; NaNs lie above all, or below.
template <typename Float, typename Bits>
void expect_order(std::vector<Keyed<Float, Bits>> floats) {
  std::erase_if(floats, [](const auto& one) { return one.is_nan(); });
  std::ranges::sort(floats, [](const auto& a, const auto& b) {
    if (a.value != b.value) return a.value < b.value;
    return std::signbit(a.value) && !std::signbit(b.value);
  });
  for (size_t i = 1; i < floats.size(); ++i) {
    if (floats[i].bits == floats[i - 1].bits) continue;
    EXPECT_LT(floats[i - 1].above, floats[i].above) << floats[i].value;
    EXPECT_LT(floats[i - 1].below, floats[i].below) << floats[i].value;
  }
}

template <typename Float, typename Bits>
void check_keys(const std::vector<Bits>& all) {
  std::vector<Keyed<Float, Bits>> floats;
  for (const Bits bits : all) floats.push_back(keyed<Float, Bits>(bits));
  expect_order<Float, Bits>(floats);
  const auto infinity = keyed<Float, Bits>(std::bit_cast<Bits>(std::numeric_limits<Float>::infinity()));
  const auto lowest =
      keyed<Float, Bits>(std::bit_cast<Bits>(static_cast<Float>(-std::numeric_limits<Float>::infinity())));
  for (const auto& one : floats) {
    if (!one.is_nan()) continue;
    EXPECT_GT(one.above, infinity.above);
    EXPECT_LT(one.below, lowest.below);
  }
}

std::vector<int16_t> all_halves() {
  std::vector<int16_t> all;
  for (int bits = 0; bits < 0x10000; ++bits) all.push_back(static_cast<int16_t>(bits));
  return all;
}

// Either side of every power of two, of zero, of infinity and of the ends of the NaNs.
template <typename Bits>
std::vector<Bits> ends(int mantissa) {
  using Word = std::make_unsigned_t<Bits>;
  std::vector<Bits> all;
  for (Word high = 0; high < Word{1} << (8 * sizeof(Bits) - static_cast<size_t>(mantissa)); ++high)
    for (const int by : {-2, -1, 0, 1, 2})
      all.push_back(static_cast<Bits>((high << mantissa) + static_cast<Word>(static_cast<Bits>(by))));
  return all;
}

TEST(Lemmas, KeysHaveTheOrderOfFloats) {
  check_keys<Float16, int16_t>(all_halves());
  check_keys<BFloat16, int16_t>(all_halves());
  check_keys<float, int32_t>(ends<int32_t>(23));
  check_keys<double, int64_t>(ends<int64_t>(52));
}

// ir/passes/expand_convert.cpp, of float32 whose low half lies around every rounding.
TEST(Lemmas, BFloat16IsRoundedInIntegers) {
  for (uint32_t high = 0; high < 0x10000; ++high)
    for (const uint32_t low : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      const uint32_t bits = high << 16 | low;
      const float x = std::bit_cast<float>(bits);
      const uint32_t rounded = (bits + ((bits >> 16 & 1) + 0x7fff)) >> 16, quiet = bits >> 16 | 0x40;
      EXPECT_EQ(static_cast<uint16_t>(x != x ? quiet : rounded), BFloat16(x).bits) << std::hex << bits;
    }
}

// ir/interp/stored_value.cpp: 0 for a NaN, a maximum, a minimum, to the nearest, the end for what lies
// beyond.
template <typename Out, typename Float>
Out rounded(Float x) {
  using Limits = std::numeric_limits<Out>;
  using Wide = std::conditional_t<sizeof(Out) == 8, double, Float>;
  const auto end = static_cast<Wide>(std::ldexp(1.0, Limits::digits));
  const bool has_most = sizeof(Out) < sizeof(Wide) || sizeof(Out) < 4;
  const Wide most = has_most ? end - 1 : std::nextafter(end, Wide{0});
  const Wide wide = x, known = wide != wide ? 0 : wide;
  const Wide clamped = std::min(most, std::max(known, static_cast<Wide>(Limits::lowest())));
  return !has_most && wide >= end ? Limits::max() : static_cast<Out>(std::nearbyint(clamped));
}

template <typename Out>
void expect_rounded(double x) {
  const auto narrow = static_cast<float>(x);
  EXPECT_EQ((rounded<Out, double>(x)), converted<Out>(x)) << x;
  EXPECT_EQ((rounded<Out, float>(narrow)), converted<Out>(narrow)) << narrow;
}

TEST(Lemmas, FloatsAreClampedAndRounded) {
  std::vector<double> all;
  for (const int16_t bits : all_halves()) all.push_back(static_cast<float>(std::bit_cast<Float16>(bits)));
  for (const int32_t bits : ends<int32_t>(23)) all.push_back(std::bit_cast<float>(bits));
  for (const int64_t bits : ends<int64_t>(52)) all.push_back(std::bit_cast<double>(bits));
  for (const double x : all) {
    expect_rounded<int8_t>(x);
    expect_rounded<uint8_t>(x);
    expect_rounded<int16_t>(x);
    expect_rounded<int32_t>(x);
    expect_rounded<int64_t>(x);
  }
}

}  // namespace
}  // namespace pooljit::ir
