// Epilogues: what each step makes of a value, on every engine, against tables worked out by hand; what the
// kernel refuses; and what the judge allows.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "c_words.h"
#include "frontend/pool_spec.h"
#include "ir/agreement.h"
#include "pooljit.hpp"
#include "runtime/compile.h"
#include "runtime/cpu_features.h"
#include "runtime/engines.h"

namespace pooljit {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
const float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float largest = std::numeric_limits<float>::max();

using Floats = std::vector<float>;
using Bytes = std::vector<std::byte>;

template <typename T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Every engine of this build on every ISA of this machine.
std::vector<Options> engines() {
  std::vector<Options> all;
  for (const runtime::EngineInfo& engine : runtime::engines())
    for (const ir::IsaInfo& isa : ir::isa_table)
      if (runtime::is_built(engine.engine) && runtime::can_run(isa.isa))
        all.push_back({.backend = std::string(engine.text), .isa = std::string(isa.text), .threads = 2});
  return all;
}

// The output of each engine, as elements; a NaN as "nan".
template <typename T>
void expect(const std::string& spec, const Bytes& input, const std::vector<Bytes>& operands,
            const std::vector<T>& expected, int64_t batch = -1) {
  for (const Options& options : engines()) {
    SCOPED_TRACE(fmt::format("{} {}: {}", options.backend, options.isa, spec));
    const Kernel kernel = compile(spec, options);
    ASSERT_EQ(kernel.info().operand_count, std::ssize(operands));
    std::vector<const void*> pointers;
    for (const Bytes& operand : operands) pointers.push_back(operand.data());
    std::vector<T> output(expected.size());
    tests::run(kernel, input.data(), {.outputs = {output.data()}, .operands = pointers, .batch = batch});
    for (size_t i = 0; i < expected.size(); ++i) {
      const bool are_nans = output[i] != output[i] && expected[i] != expected[i];
      EXPECT_TRUE(are_nans || std::memcmp(&output[i], &expected[i], sizeof(T)) == 0)
          << "at " << i << ": " << +output[i] << " instead of " << +expected[i];
    }
  }
}

// One value per window.
std::string spec_of(std::string_view dtype, size_t count, std::string_view rest) {
  return fmt::format("max_pool1d({}[1,1,{}], kernel_size=1, {})", dtype, count, rest);
}

TEST(Steps, AreTheirEquations) {
  const Floats x = {-2, -0.0f, 0, 0.5f, 3, 7, inf, -inf, nan, largest};
  const auto of = [&](std::string_view steps, const Floats& expected,
                      const std::vector<Bytes>& operands = {}) {
    expect(spec_of("float32", x.size(), fmt::format("epilogue=[{}]", steps)), bytes_of(x), operands,
           expected);
  };
  of("relu", {0, 0, 0, 0.5f, 3, 7, inf, 0, nan, largest});
  of("clamp(0,6)", {0, -0.0f, 0, 0.5f, 3, 6, 6, 0, nan, 6});
  of("clamp(-inf,3)", {-2, -0.0f, 0, 0.5f, 3, 3, 3, -inf, nan, 3});
  of("scale(2,1)", {-3, 1, 1, 2, 7, 15, inf, -inf, nan, inf});
  of("scale(-1,0)", {2, 0, 0, -0.5f, -3, -7, -inf, inf, nan, -largest});
  of("scale_channel", {-3, 1, 1, 2, 7, 15, inf, -inf, nan, inf}, {bytes_of(Floats{2}), bytes_of(Floats{1})});
  of("mul_channel", {4, 0, -0.0f, -1, -6, -14, -inf, inf, nan, -inf}, {bytes_of(Floats{-2})});
  of("add_channel", {-1, 1, 1, 1.5f, 4, 8, inf, -inf, nan, largest}, {bytes_of(Floats{1})});
  of("add", {-1, 0, 0, nan, 7, 7, nan, -inf, nan, inf},
     {bytes_of(Floats{1, 0, -0.0f, nan, 4, 0, -inf, 1, 1, largest})});
  of("mul", {-2, -0.0f, -0.0f, nan, 12, 0, -inf, -inf, nan, inf},
     {bytes_of(Floats{1, 0, -0.0f, nan, 4, 0, -inf, 1, 1, 2})});
}

TEST(Steps, OfScaleRoundTwice) {
  const float x = 1 + 0x1p-12f, product = 1 + 0x1p-11f;  // x * x, without its last bit 2^-24
  expect(spec_of("float32", 1, fmt::format("epilogue=[scale({0},{1})]", x, -product)), bytes_of(Floats{x}),
         {}, Floats{0});
  expect(spec_of("float32", 1, "epilogue=[scale_channel]"), bytes_of(Floats{x}),
         {bytes_of(Floats{x}), bytes_of(Floats{-product})}, Floats{0});
}

TEST(Steps, ComeInAnyOrder) {
  const Floats x = {-4, 2, 20};
  const auto of = [&](std::string_view steps, const Floats& expected) {
    expect(spec_of("float32", x.size(), fmt::format("epilogue=[{}]", steps)), bytes_of(x), {}, expected);
  };
  of("scale(-1,1), relu", {5, 0, 0});
  of("relu, scale(-1,1)", {1, -1, -19});
  of("scale(-1,1), relu, scale(-1,1), clamp(-3,0)", {-3, 0, 0});
}

TEST(Requantize, RoundsToEvenAndClamps) {
  const Floats x = {0.25f, 0.75f, 1.25f, -1.5f, 200, -200, nan, inf};
  const std::string spec = spec_of("float32", x.size(), "epilogue=[requantize(0.5,3)], output_dtype=int8");
  expect(spec, bytes_of(x), {}, std::vector<int8_t>{4, 4, 6, 0, 127, -128, 0, 127});
  // The steps behind it see the integer.
  expect(spec_of("float32", x.size(), "epilogue=[requantize(0.5,3), scale(0.5,0.25)], output_dtype=int8"),
         bytes_of(x), {}, std::vector<int8_t>{2, 2, 3, 0, 64, -64, 0, 64});
}

TEST(Epilogue, SeesTheQuotientBeforeItIsRounded) {
  // (1 + 2) / 2 = 1.5, times 10: 15; an average of its own would be 2.
  const std::string spec = "avg_pool1d(uint8[1,1,4], kernel_size=2, epilogue=[scale(10,0)]";
  expect(spec + ")", bytes_of(std::vector<uint8_t>{1, 2, 250, 251}), {}, std::vector<uint8_t>{15, 255});
  expect(spec + ", output_dtype=float32)", bytes_of(std::vector<uint8_t>{1, 2, 250, 251}), {},
         Floats{15, 2505});
  // 2^24 + 1 is no float32, but a float64, in which int32 is computed.
  expect("sum_pool1d(int32[1,1,2], kernel_size=2, epilogue=[scale(1,0.25)], output_dtype=float64)",
         bytes_of(std::vector<int32_t>{1 << 24, 1}), {}, std::vector<double>{16777217.25});
  // A quantized average of 2.4999999999 stays below a half, as it would without steps.
  expect("quantized_avg_pool1d(quint8[1,1,2], kernel_size=2, epilogue=[relu])",
         bytes_of(std::vector<uint8_t>{2, 3}), {}, std::vector<uint8_t>{2});
}

TEST(Epilogue, HalvesAreRoundedOnce) {
  // 1 + 2^-8 is no bfloat16, but the float32 sum is.
  const std::vector<uint16_t> x = {0x3f80, 0x3b80};  // 1, 2^-8
  expect("sum_pool1d(bfloat16[1,1,2], kernel_size=2, epilogue=[scale(256,0)], output_dtype=float32)",
         bytes_of(x), {}, Floats{257});
  expect("sum_pool1d(bfloat16[1,1,2], kernel_size=2, epilogue=[add(float32)])", bytes_of(x),
         {bytes_of(Floats{0x1p-8f})}, std::vector<uint16_t>{0x3f81});
}

// Channels and addend take the places of their layout, also in a blocked one and with strides.
TEST(Operands, LieLikeTheOutput) {
  constexpr int64_t channels = 19, columns = 21;
  std::map<std::string, std::string> layouts = {{"", ""},
                                                {":nhwc", ""},
                                                {":nchw8c", ""},
                                                {"", ", output_layout=nhwc"},
                                                {"", ", output_strides=[2000,1,100]"}};
  for (const auto& [layout, rest] : layouts)
    for (const Options& options : engines()) {
      const std::string text = fmt::format(
          "max_pool1d(float32[2,{},{}]{}, kernel_size=1, epilogue=[scale_channel, add(float64)]{})", channels,
          columns, layout, rest);
      SCOPED_TRACE(fmt::format("{} {}: {}", options.backend, options.isa, text));
      const Kernel kernel = compile(text, options);
      const Info known = kernel.info();
      ASSERT_EQ(known.operand_count, 3);
      EXPECT_STREQ(known.operand_dtype[0], "float32");
      EXPECT_STREQ(known.operand_dtype[2], "float64");
      EXPECT_EQ(known.operand_bytes[1], channels * 4);
      EXPECT_EQ(known.operand_bytes[2], 2 * known.output_bytes);
      const ir::PoolNest nest = frontend::make_nest(*frontend::parse_spec(text));
      Floats input(kernel.input_bytes() / 4), output(kernel.output_bytes() / 4), a, b;
      std::vector<double> y(output.size());
      for (int64_t c = 0; c < channels; ++c) a.push_back(float(c)), b.push_back(float(100 * c));
      const auto at = [&](const ir::View& view, int64_t n, int64_t c, int64_t i) {
        return size_t(n * view.batch_stride + view.channel_offset(c) + i * view.strides[0]);
      };
      const auto for_all = [&](auto use) {
        for (int64_t n = 0; n < 2; ++n)
          for (int64_t c = 0; c < channels; ++c)
            for (int64_t i = 0; i < columns; ++i) use(n, c, i);
      };
      for_all([&](int64_t n, int64_t c, int64_t i) {
        input[at(nest.input, n, c, i)] = float(i + n);
        y[at(nest.output, n, c, i)] = double(10000 * (n * columns + i));
      });
      tests::run(kernel, input.data(),
                 {.outputs = {output.data()}, .operands = {a.data(), b.data(), y.data()}});
      for_all([&](int64_t n, int64_t c, int64_t i) {
        ASSERT_EQ(output[at(nest.output, n, c, i)], float((i + n) * c + 100 * c + 10000 * (n * columns + i)))
            << n << " " << c << " " << i;
      });
    }
}

TEST(Operands, TheTensorGrowsWithTheBatch) {
  const Floats x = {1, 2, 3, 4, 5, 6}, y = {10, 20, 30, 40, 50, 60};
  expect("max_pool1d(float32[1,1,2], kernel_size=1, epilogue=[add])", bytes_of(x), {bytes_of(y)},
         Floats{11, 22, 33, 44, 55, 66}, 3);
}

TEST(Operands, AreCheckedBeforeAnythingIsWritten) {
  Floats input(8, 1), output(8, -1), y(8, 1);
  int64_t indices[8];
  const Kernel kernel = compile(
      "max_pool1d(float32[1,2,4], kernel_size=1, return_indices=True, epilogue=[add, scale_channel])");
  const auto id_of = [&](std::vector<const void*> operands) {
    try {
      tests::run(kernel, input.data(),
                 {.outputs = {output.data()}, .indices = {indices}, .operands = std::move(operands)});
    } catch (const Error& error) {
      return error.id();
    }
    return std::string("done");
  };
  EXPECT_EQ(id_of({}), "run.operands");
  EXPECT_EQ(id_of({y.data(), y.data()}), "run.operands");
  EXPECT_EQ(id_of({y.data(), y.data(), y.data(), y.data()}), "run.operands");
  EXPECT_EQ(id_of({y.data(), nullptr, y.data()}), "run.null");
  EXPECT_EQ(id_of({output.data(), y.data(), y.data()}), "run.overlap");
  EXPECT_EQ(id_of({y.data(), output.data() + 7, y.data()}), "run.overlap");
  EXPECT_EQ(id_of({y.data(), indices, y.data()}), "run.overlap");
  EXPECT_EQ(output, Floats(8, -1));
  EXPECT_EQ(id_of({input.data(), y.data(), y.data()}), "done");  // what is only read may be shared
  EXPECT_EQ(output, Floats(8, 3));
  EXPECT_THROW(tests::run(compile("max_pool1d(float32[1,2,4], kernel_size=1)"), input.data(),
                          {.outputs = {output.data()}, .operands = {y.data()}}),
               Error);
}

// Sums differ by their order: within a bound that goes through the steps, and no more.
TEST(Judge, CarriesItsBoundsThroughTheSteps) {
  const auto allows = [](const std::string& rest, float found) {
    const auto spec =
        frontend::parse_spec("sum_pool1d(float32[1,1,3], kernel_size=3, epilogue=" + rest + ")");
    const ir::PoolNest nest = frontend::make_nest(*spec);
    const Floats input = {1, 0x1p-24f, 0x1p-24f}, a = {4}, b = {1};  // 1 + 2^-23, or 1
    const void* const operands[] = {a.data(), b.data()};
    return !ir::disagreement(nest, 1, input.data(), &found, nullptr, operands);
  };
  EXPECT_TRUE(allows("[relu]", 1));
  EXPECT_TRUE(allows("[relu]", 1 + 0x1p-23f));
  EXPECT_FALSE(allows("[relu]", 1 + 0x1p-20f));
  EXPECT_TRUE(allows("[scale_channel]", 5));
  EXPECT_FALSE(allows("[scale_channel]", 5 + 0x1p-18f));
  EXPECT_FALSE(allows("[scale_channel]", 1));
  EXPECT_TRUE(allows("[scale(1000,0)]", 1000));
  EXPECT_FALSE(allows("[scale(1000,0)]", 1000.01f));
}

// A sum that overflows in one order need not in another, and infinity times 0 is no number.
TEST(Judge, WhatMayOverflowIsBoundByNothing) {
  const auto spec = frontend::parse_spec("sum_pool1d(float32[1,1,3], kernel_size=3, epilogue=[mul_channel])");
  const ir::PoolNest nest = frontend::make_nest(*spec);
  const Floats input = {3e38f, 3e38f, -3e38f}, zero = {0};
  const void* const operands[] = {zero.data()};
  for (const float found : {0.f, std::nanf("")})
    EXPECT_FALSE(ir::disagreement(nest, 1, input.data(), &found, nullptr, operands)) << found;
}

TEST(Judge, OfMaximaIsExact) {
  const auto spec =
      frontend::parse_spec("max_pool1d(float32[1,1,2], kernel_size=2, epilogue=[scale(3,0.1)])");
  const ir::PoolNest nest = frontend::make_nest(*spec);
  const Floats input = {1, 2};
  const float right = 2.0f * 3.0f + 0.1f, wrong = std::nextafter(right, 10.0f);
  EXPECT_FALSE(ir::disagreement(nest, 1, input.data(), &right, nullptr));
  EXPECT_TRUE(ir::disagreement(nest, 1, input.data(), &wrong, nullptr));
}

}  // namespace
}  // namespace pooljit
