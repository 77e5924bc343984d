// float16 and bfloat16: the conversions of ir/half.h against arithmetic in double, for every half and for
// what lies about each; and every half and those floats through every engine.
#include "ir/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "programs/bundle.h"

namespace pooljit::test {
namespace {

using ir::BFloat16;
using ir::Float16;

template <typename Half>
std::vector<Half> all_halves() {
  std::vector<Half> all;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) all.push_back(Half::from_bits(static_cast<uint16_t>(bits)));
  return all;
}

// Each half's value, the middle between it and the next one, and the floats next to the middle.
template <typename Half>
std::vector<float> floats_about_halves() {
  std::vector<float> floats;
  for (const Half half : all_halves<Half>()) {
    const float value = half;
    floats.push_back(value);
    if (!std::isfinite(value)) continue;
    const float next = Half::from_bits(static_cast<uint16_t>(half.bits + 1));
    const double beyond = std::ldexp(1.0, std::numeric_limits<Half>::max() > Half(1e5F) ? 128 : 16);
    const double end = std::isfinite(next) ? static_cast<double>(next) : std::copysign(beyond, value);
    const auto middle = static_cast<float>((static_cast<double>(value) + end) / 2);
    floats.insert(floats.end(), {middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 2 * middle)});
  }
  return floats;
}

// What narrowing means, from the table of all halves: the nearer neighbour, the even one where both are as
// near.
template <typename Half>
uint16_t nearest(float value) {
  static const std::vector<float> positive = [] {
    std::vector<float> table;
    for (uint16_t bits = 0; bits < Half::infinity_bits; ++bits) table.push_back(Half::from_bits(bits));
    return table;
  }();
  const double magnitude = std::abs(static_cast<double>(value));
  const auto above = std::upper_bound(positive.begin(), positive.end(), magnitude);
  const auto below = static_cast<size_t>(above - positive.begin()) - 1;
  // Infinity takes part as the number that would come next.
  const double last_step =
      static_cast<double>(positive.back()) - static_cast<double>(positive[positive.size() - 2]);
  const double next = above == positive.end() ? static_cast<double>(positive.back()) + last_step
                                              : static_cast<double>(*above);
  const double down = magnitude - static_cast<double>(positive[below]), up = next - magnitude;
  const size_t chosen = up < down || (up == down && below % 2 == 1) ? below + 1 : below;
  return static_cast<uint16_t>(chosen | (std::signbit(value) ? 0x8000U : 0U));
}

template <typename Half>
void expect_nearest() {
  for (const float value : floats_about_halves<Half>())
    if (!std::isnan(value) && !std::isinf(value)) {
      ASSERT_EQ(Half(value).bits, nearest<Half>(value)) << std::hexfloat << value;
    }
}

template <typename Half>
void expect_round_trip() {
  for (const Half half : all_halves<Half>()) {
    const float value = half;
    const uint16_t quiet = std::isnan(value) ? std::numeric_limits<Half>::quiet_NaN().bits : 0;
    ASSERT_EQ(Half(value).bits, half.bits | quiet);
  }
}

TEST(Halves, WidenAndComeBack) {
  expect_round_trip<Float16>();
  expect_round_trip<BFloat16>();
  EXPECT_EQ(static_cast<float>(Float16::from_bits(0x3555)), 0x1.554p-2F);
  EXPECT_EQ(static_cast<float>(Float16::from_bits(0x8001)), -0x1p-24F);
  EXPECT_EQ(static_cast<float>(BFloat16::from_bits(0x3eab)), 0x1.56p-2F);
}

TEST(Halves, NarrowToTheNearestEven) {
  expect_nearest<Float16>();
  expect_nearest<BFloat16>();
}

TEST(Halves, NarrowNaNsKeepTheirUpperPayload) {
  const auto nan = [](uint32_t bits) { return std::bit_cast<float>(bits); };
  EXPECT_EQ(Float16(nan(0xffc06000)).bits, 0xfe03);
  EXPECT_EQ(Float16(nan(0x7f800001)).bits, 0x7e00);
  EXPECT_EQ(BFloat16(nan(0xffc16000)).bits, 0xffc1);
  EXPECT_EQ(BFloat16(nan(0x7f800001)).bits, 0x7fc0);
}

// Converts `count` vectors of `values`, one after the other; all engines must do it as the interpreter does.
template <typename From>
void expect_engines_agree(Isa isa, DType from, DType to, const std::vector<From>& values) {
  const int lanes = ir::info(isa).vector_bytes / 4;
  Builder b("convert", isa);
  const int task = b.add_task("i", static_cast<int64_t>(values.size()) / lanes);
  const Value in = b.param(ir::Param::Role::input), out = b.param(ir::Param::Role::output);
  const auto loop = b.begin_loop(b.param(ir::Param::Role::count, task));
  const Value x = b.load(Type::vec(from, lanes), {in, {{loop.iv, lanes * ir::bytes(from)}}, 0});
  b.store({out, {{loop.iv, lanes * ir::bytes(to)}}, 0}, b.cvt(to, x));
  b.end_loop();
  b.ret();
  const auto vectors = static_cast<int64_t>(values.size()) / lanes;
  const size_t elements = static_cast<size_t>(vectors * lanes);
  Case c{"convert", b.finish(), std::vector<uint8_t>(elements * sizeof(From)),
         elements * static_cast<size_t>(ir::bytes(to))};
  std::memcpy(c.input.data(), values.data(), c.input.size());
  c.count = vectors;
  const std::string wrong = complaint(c);
  EXPECT_TRUE(wrong.empty()) << wrong;
}

TEST(Halves, EveryEngineConvertsThemTheSame) {
  for (const ir::IsaInfo& isa : ir::isa_table) {
    expect_engines_agree(isa.isa, DType::f16, DType::f32, all_halves<Float16>());
    expect_engines_agree(isa.isa, DType::bf16, DType::f32, all_halves<BFloat16>());
    expect_engines_agree(isa.isa, DType::f32, DType::f16, floats_about_halves<Float16>());
    expect_engines_agree(isa.isa, DType::f32, DType::bf16, floats_about_halves<BFloat16>());
  }
}

}  // namespace
}  // namespace pooljit::test
