// The proof of machine code can succeed, for every engine. (That it can fail: wrong_kernels_test.cpp,
// wrong_bytes_test.cpp.)
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/schedule_text.h"
#include "pooljit.hpp"
#include "runtime/proof/verify.h"
#include "tests/native_choices.h"

namespace pooljit::runtime {
namespace {

void expect_proved(const char* spec, bool is_read) {
  for (const Choices& choices : native_choices()) {
    const auto proof = verify(spec, choices);
    ASSERT_TRUE(proof) << spec << "\n" << ir::to_string(proof.error());
    EXPECT_TRUE(proof->ok()) << print(*proof);
    if (is_read) {
      EXPECT_GT(proof->program_outputs, 0) << print(*proof);
      // LLVM puts bytes together in ways that have no reading yet.
      if (choices.engine == Engine::xbyak) {
        EXPECT_GT(proof->bytes_outputs, 0) << print(*proof);
      }
    }
    EXPECT_GT(proof->probes.count(Part::memory), 0) << print(*proof);
    const auto rounds = rounds_needed(frontend::make_nest(*frontend::parse_spec(spec)));
    const bool has_weights = rounds && rounds->log2_error != 0;
    EXPECT_LE(proof->probes.rounds.log2_error, has_weights ? -64 : 0) << print(*proof);
  }
}

// Also the gradient, which reads as a pooling does: no kernel of a maximum stands for it.
TEST(Verify, UnpoolsAreRoutinesOfTheRuntime) {
  for (const char* spec : {"max_unpool2d(float32[1,1,2,2], kernel_size=2)",
                           "max_unpool2d_backward(float32[1,1,2,2], kernel_size=2)"}) {
    for (const Choices& choices : native_choices()) {
      const auto proof = verify(spec, choices);
      ASSERT_FALSE(proof) << print(*proof);
      EXPECT_EQ(proof.error().id, "schedule.unpool");
    }
    EXPECT_THROW(pooljit::compile(spec, {.verify = true}), Error);
  }
}

TEST(Verify, KernelsOfEachKindAreProved) {
  for (const char* spec : {
           "max_pool2d(float32[2,9,11,20], kernel_size=3, stride=2, padding=1, return_indices=True)",
           "max_pool2d(float32[1,17,5,9]:nhwc, kernel_size=2, nan=ignore, zeros=first)",
           "max_pool3d(uint8[1,3,5,6,7], kernel_size=2, padding=1)",
           "max_pool1d(float32[2,3,40], kernel_size=3, dilation=2, output_strides=[240,80,2])",
           "avg_pool2d(float32[2,5,9,20], kernel_size=3, stride=2, padding=1)",
           "avg_pool2d(uint8[1,33,6,7]:nhwc, kernel_size=[2,3], count_include_pad=False)",
           "avg_pool1d(uint8[1,4,33], kernel_size=5, divisor_override=3)",
           // Of each lane its own divisor, odd and even; and constants that have no sign of their own.
           "avg_pool2d(uint8[1,3,7,37], kernel_size=3, stride=1, padding=1, count_include_pad=False)",
           "avg_pool2d(int8[1,3,6,21], kernel_size=[2,3], stride=1, padding=1, count_include_pad=False)",
           "avg_pool2d(int8[1,5,15,15]:nhwc, kernel_size=13, stride=1)",
           // Ties away from zero: by a shift and by products.
           "avg_pool2d(int8[1,33,6,7]:nhwc, kernel_size=2, rounding=half_away)",
           "avg_pool2d(int8[1,3,6,21], kernel_size=[2,3], stride=1, padding=1, count_include_pad=False, "
           "rounding=half_away)",
           "avg_pool2d(uint8[1,3,7,37], kernel_size=[3,2], stride=1, rounding=half_away)",
           // Zeros of either sign: of gradients, and where there is none.
           "avg_pool1d_backward(bfloat16[1,33,17], kernel_size=3, stride=2, dilation=2, divisor_override=-5)",
           // LLVM compares one element at a time with a constant, which takes no part in the maximum.
           "adaptive_max_pool1d(float16[2,4,1], output_size=12)",
           // LLVM puts the divisor below what is left of the data in a register.
           "adaptive_avg_pool2d(int8[1,15,17,17], output_size=5)",
       })
    expect_proved(spec, true);
}

// Their Programs have no symbolic reading.
TEST(Verify, KernelsOfEachOperatorAreProved) {
  for (const char* spec : {
           "max_pool2d(float16[1,3,7,20], kernel_size=3, return_indices=True)",
           "max_pool2d(float32[1,2,9,20], kernel_size=7, stride=1, padding=3)",   // by keys
           "max_pool2d(float32[1,3,7,9], kernel_size=3, output_dtype=bfloat16)",  // rounded by adding
           "max_pool2d(int64[1,3,7,9], kernel_size=3, output_dtype=float64)",
           "max_pool2d(int16[1,3,7,40], kernel_size=2)",
           // Borders of elements that AVX2 cannot mask, moved to their place.
           "max_pool2d(uint8[1,2,9,70], kernel_size=7, stride=2, padding=3)",  // every second window
           "max_pool2d(int8[1,2,7,37], kernel_size=4, stride=2, padding=1, ceil_mode=True)",
           "max_pool2d(int16[1,2,5,20], kernel_size=5, stride=1, padding=2)",
           "avg_pool2d(bfloat16[1,2,5,20], kernel_size=3, stride=1, padding=1, count_include_pad=False)",
           "max_pool2d(uint8[1,2,5,40], kernel_size=3, stride=2, padding=1, return_indices=True)",
           "quantized_avg_pool2d(qint8[1,3,6,7], kernel_size=2, scale=0.5, output_scale=2, "
           "rounding=half_away)",
           "avg_pool2d(int8[1,3,6,7], kernel_size=2, rounding=half_away, epilogue=[clamp(-9,9)])",
           "avg_pool1d(int16[1,2,40], kernel_size=6, stride=1, rounding=half_away)",
           "avg_pool1d(int64[1,2,40], kernel_size=2, rounding=half_away)",
           "avg_pool2d(int64[1,5,6,9]:nhwc, kernel_size=1, divisor_override=-1, rounding=half_away)",
           "quantized_avg_pool2d(quint8[1,3,6,7], kernel_size=3, scale=0.5, zero_point=3, output_scale=2)",
           "sum_pool2d(int32[1,3,6,9], kernel_size=3, stride=2, padding=1)",
           "avg_pool2d(int64[1,3,6,9], kernel_size=3, stride=2, padding=1, count_include_pad=False)",
           "avg_pool1d(int32[1,2,40], kernel_size=7, stride=1)",
           "adaptive_avg_pool2d(bfloat16[1,3,20,20], output_size=1)",
           "prod_pool2d(float32[1,3,7,20], kernel_size=3, stride=2, padding=1)",
           "prod_pool2d(float16[1,17,6,5]:nhwc, kernel_size=2, stride=1)",
           "global_prod_pool2d(float64[1,3,20,20])",  // more taps than exponents
           "prod_pool2d(uint8[1,3,6,40], kernel_size=3, stride=1, padding=1)",
           "prod_pool1d(int16[1,3,20], kernel_size=4, output_dtype=float32)",
           "prod_pool1d(int64[1,4,20]:nwc, kernel_size=3)",
           "lp_pool2d(float32[1,3,6,9], kernel_size=3, norm_type=1)",
           "lp_pool2d(float32[1,17,6,5]:nhwc, kernel_size=2, norm_type=2)",
           "lp_pool1d(float64[1,3,20], kernel_size=3, norm_type=2)",
           "lp_pool1d(float16[1,3,20], kernel_size=3, norm_type=inf)",
           "lp_pool1d(float32[1,3,20], kernel_size=3, norm_type=3)",
           "avg_pool2d_backward(float32[1,3,7,9], kernel_size=3,stride=2,padding=1,count_include_pad=False)",
           "avg_pool1d_backward(bfloat16[1,9,12]:nwc, kernel_size=3, stride=1)",
           "max_pool1d_backward(float32[1,3,21], kernel_size=3, stride=2, padding=1)",
           "min_pool1d_backward(float32[1,3,21], kernel_size=3, stride=2, padding=1)",
           "sum_pool2d_backward(float32[1,3,7,9], kernel_size=3, stride=2, padding=1)",
           "adaptive_avg_pool2d_backward(float32[1,3,7,9], output_size=[4,5])",
           "adaptive_max_pool2d_backward(float32[1,3,5,7], output_size=[3,4])",
           "max_pool2d_backward(float64[1,3,5,5], kernel_size=2, stride=1, index_dtype=int32)",
           "max_pool1d_backward(float16[1,9,12]:nwc, kernel_size=2, index_scope=nhwc, index_dtype=int32)",
           "max_pool1d_backward(float32[1,3,21], kernel_size=2, index_scope=window, index_dtype=uint8)",
       })
    expect_proved(spec, false);
}

// Behind the steps of an epilogue, of every kind.
TEST(Verify, KernelsWithEpiloguesAreProved) {
  for (const char* spec : {
           "max_pool2d(float32[2,9,6,20], kernel_size=3, stride=2, padding=1, epilogue=[relu])",
           "max_pool2d(float16[1,17,5,9]:nhwc, kernel_size=2, epilogue=[clamp(0,6), scale(0.5,1)])",
           "max_pool2d(float32[1,3,9,20], kernel_size=7, stride=1, padding=3, epilogue=[relu])",  // by keys
           "max_pool2d(uint8[1,5,6,20], kernel_size=3, stride=2, padding=1, epilogue=[requantize(0.5,3)])",
           "max_pool2d(int8[1,5,6,20], kernel_size=3, epilogue=[relu], return_indices=True)",
           "max_pool2d(bfloat16[1,5,4,9], kernel_size=3, epilogue=[mul_channel, add_channel, relu, add])",
           "max_pool1d(float64[1,3,20]:nwc, kernel_size=3, output_strides=[200,2,9], epilogue=[add(int8)])",
           "min_pool1d(float32[1,3,20], kernel_size=3, epilogue=[scale(-1,0), relu])",
           "avg_pool2d(float32[2,5,6,20], kernel_size=3, stride=2, padding=1, epilogue=[scale_channel,relu])",
           "avg_pool2d(uint8[1,33,6,7]:nhwc, kernel_size=[2,3], epilogue=[scale_channel, requantize(2,10)])",
           "avg_pool2d(int8[1,3,14,14], kernel_size=7, epilogue=[relu, requantize(0.25,-5)])",
           "quantized_avg_pool2d(quint8[1,3,6,7], kernel_size=3, scale=0.5, zero_point=3, epilogue=[relu])",
           "adaptive_avg_pool2d(bfloat16[1,3,20,20], output_size=1, epilogue=[add_channel, relu])",
           "sum_pool2d(int32[1,3,6,9], kernel_size=3, stride=2, padding=1, epilogue=[clamp(-100,1000000)])",
           "prod_pool2d(float32[1,3,6,9], kernel_size=2, epilogue=[relu, add])",
           "prod_pool1d(int8[1,3,20], kernel_size=3, epilogue=[scale(0.5,1)], output_dtype=float32)",
           "lp_pool2d(float32[1,3,6,9], kernel_size=3, norm_type=1, epilogue=[scale(0.1,2)])",
           "lp_pool2d(float32[1,17,6,5]:nhwc, kernel_size=2, norm_type=2, epilogue=[clamp(0,6)])",
           "lp_pool1d(float16[1,3,20], kernel_size=3, norm_type=inf, epilogue=[clamp(0,2), add(float32)])",
           "lp_pool1d(float32[1,3,20], kernel_size=3, norm_type=3, epilogue=[relu])",
       })
    expect_proved(spec, false);
}

// What the steps hide, or what is only tested of them, is said.
TEST(Verify, WhatStepsLeaveIsSaid) {
  struct Row {
    const char* spec;
    const char* left;  // empty: nothing of the steps
  };
  const Row rows[] = {
      {"max_pool1d(uint8[1,3,20], kernel_size=3, epilogue=[requantize(0.5,3)])", ""},
      {"max_pool1d(float32[1,3,20], kernel_size=3, epilogue=[relu])",
       "what the steps make of values, which is tested"},
      {"max_pool1d(uint8[1,3,20], kernel_size=3, epilogue=[add_channel])",
       "what the steps make of values, which is tested"},
      {"max_pool1d(uint8[1,3,20], kernel_size=3, epilogue=[scale(0,1)])", "which elements an output takes"},
      {"max_pool1d(float32[1,3,20], kernel_size=3, epilogue=[clamp(0,0)], output_dtype=int8)",
       "which elements an output takes"},
      {"avg_pool1d(float32[1,3,20], kernel_size=3, epilogue=[scale(0.3,-1000), clamp(0,6)])",
       "weights, which are tested"},
      {"max_pool1d(uint8[1,3,20], kernel_size=3, epilogue=[mul_channel, requantize(1,0), clamp(3,3)])",
       "that the numbers tried for an operand did not change"},
  };
  for (const Row& row : rows) {
    const auto proof = verify(row.spec, {});
    ASSERT_TRUE(proof && proof->ok()) << row.spec;
    const bool says_steps = std::ranges::any_of(proof->left, [](const std::string& left) {
      return left.find("steps") != std::string::npos || left.find("operand") != std::string::npos;
    });
    EXPECT_EQ(says_steps, *row.left != '\0') << print(*proof);
    EXPECT_NE(print(*proof).find(row.left), std::string::npos) << print(*proof);
  }
}

// Keys are read where the Program is small enough to be proved; else that they keep the order of floats is
// said to be left, where the Program compares keys.
TEST(Verify, KeysAreReadOrSaid) {
  const auto says_keys = [](const char* spec, const char* schedule, bool is_read) {
    Choices choices;
    choices.schedule = *ir::parse_schedule(schedule);
    const auto proof = verify(spec, choices);
    EXPECT_TRUE(proof && proof->ok()) << spec << ' ' << schedule;
    EXPECT_EQ(proof && proof->program_outputs > 0, is_read) << spec << ' ' << schedule;
    return proof && std::ranges::any_of(proof->left, [](const std::string& left) {
             return left.find("integer keys") != std::string::npos;
           });
  };
  const char* const keyed = "channels_first(lanes=8, rows_together=2, scan=rows_first)";
  const char* const large = "max_pool2d(float32[1,16,40,60], kernel_size=5, stride=1, padding=2)";
  EXPECT_TRUE(says_keys(large, keyed, false));
  EXPECT_FALSE(says_keys(large, "channels_last(lanes=1)", false));
  EXPECT_FALSE(says_keys("max_pool2d(float32[1,2,9,20], kernel_size=5, stride=1, padding=2)", keyed, true));
}

TEST(Verify, ALargeTensorIsProbedSmaller) {
  const auto proof = verify("max_pool2d(float32[1,64,500,500], kernel_size=3)", {}, {.work = 5e7});
  ASSERT_TRUE(proof) << ir::to_string(proof.error());
  EXPECT_TRUE(proof->ok()) << print(*proof);
  EXPECT_EQ(proof->smaller.substr(0, 27), "max_pool2d(float32[1,64,32,") << print(*proof);
  EXPECT_EQ(print(*proof).find("proved for a smaller tensor: "), 0U) << print(*proof);
  ASSERT_FALSE(proof->left.empty());
  EXPECT_NE(proof->left[0].find("what was executed and probed is max_pool2d("), std::string::npos)
      << proof->left[0];
  const auto none = verify("max_pool2d(float32[1,64,500,500], kernel_size=3)", {}, {.work = 10});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().id, "prove.size");
}

// Of many planes that are made in the same way one is read, and nothing of it is left to a smaller tensor.
TEST(Verify, AWholeStemIsExecuted) {
  for (const char* layout : {"nchw", "nhwc"}) {
    const auto proof = verify(
        "max_pool2d(float32[1,64,112,112]:" + std::string(layout) + ", kernel_size=3, stride=2, padding=1)",
        {});
    ASSERT_TRUE(proof) << ir::to_string(proof.error());
    EXPECT_TRUE(proof->ok()) << print(*proof);
    EXPECT_EQ(proof->smaller, "") << print(*proof);
    EXPECT_EQ(proof->bytes_kinds, 1) << print(*proof);
    EXPECT_EQ(proof->bytes_outputs, 2 * 64 * 56 * 56) << print(*proof);
    EXPECT_GT(proof->ranges, 2) << print(*proof);
  }
}

// Rows walked in pieces, so many that only a tensor of few whole rows is done by the same loops.
TEST(Verify, OneOfLongRowsIsProbedWithFewerOfThem) {
  Choices choices{Engine::xbyak, ir::Isa::avx2, {}};
  if (!is_built(choices.engine) || !can_run(choices.isa)) GTEST_SKIP() << "this machine runs no AVX2";
  choices.schedule = *ir::parse_schedule("row_passes(lanes=32, rows_together=8, scan=trailing, tail=split)");
  const auto proof = verify("max_pool2d(uint8[1,1,400,3840], kernel_size=[9,3], stride=1, padding=[4,1])",
                            choices, {.work = 3e7});
  ASSERT_TRUE(proof) << ir::to_string(proof.error());
  EXPECT_TRUE(proof->ok()) << print(*proof);
  ASSERT_FALSE(proof->left.empty());
  EXPECT_NE(proof->left[0].find("max_pool2d(uint8[1,1,32,3840]"), std::string::npos) << proof->left[0];
}

// Rows in bands: a smaller tensor has one band, and says nothing of the others.
TEST(Verify, OneOfOtherLoopsIsProbedWhole) {
  Choices choices{Engine::xbyak, ir::Isa::avx2, {}};
  if (!is_built(choices.engine) || !can_run(choices.isa)) GTEST_SKIP() << "this machine runs no AVX2";
  choices.schedule =
      *ir::parse_schedule("separable(lanes=8, vectors_side_by_side=2, scan=van_herk, tail=mask)");
  const auto proof = verify(
      "avg_pool2d(float32[1,16,70,90]:nhwc, kernel_size=9, stride=1, padding=4, count_include_pad=False)",
      choices);
  ASSERT_TRUE(proof) << ir::to_string(proof.error());
  EXPECT_TRUE(proof->ok()) << print(*proof);
  for (const std::string& left : proof->left) EXPECT_EQ(left.find("too large"), std::string::npos) << left;
}

TEST(Verify, ElementsInOnePlaceAreNotToldApart) {
  for (const char* strides : {"[10,0]", "[0,1]", "[5,1]"}) {
    const auto proof =
        verify(std::string("max_pool1d(float32[2,10], kernel_size=3, strides=") + strides + ")", {});
    ASSERT_FALSE(proof) << print(*proof);
    EXPECT_EQ(proof.error().id, "prove.unsupported") << strides;
  }
  const auto apart = verify("max_pool1d(float32[2,10], kernel_size=3, strides=[1,2])", {});
  EXPECT_TRUE(apart && apart->ok());
}

TEST(Verify, CompileHandsOutProvedKernels) {
  const char* const spec = "max_pool1d(float32[1,3,21], kernel_size=2)";
  const pooljit::Kernel kernel = pooljit::compile(spec, pooljit::options_read("verify=1 backend=xbyak"));
  EXPECT_EQ(kernel.proof().substr(0, 18), "proved: max_pool1d") << kernel.proof();
  EXPECT_EQ(pooljit::compile(spec).proof(), "");
  EXPECT_EQ(pooljit::compile(spec, {.backend = "xbyak", .verify = true}).proof(), kernel.proof());
}

}  // namespace
}  // namespace pooljit::runtime
