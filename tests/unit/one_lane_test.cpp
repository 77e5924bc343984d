// Layers that had one lane although their taps are adjacent: one row for each cause.
#include <gtest/gtest.h>

#include "frontend/pool_spec.h"
#include "ir/choose/enumerate.h"
#include "ir/schedule_text.h"
#include "lab/check.h"

namespace pooljit::ir {
namespace {

struct Cause {
  const char* what;
  const char* spec;
};

constexpr Cause causes[] = {
    // The first of two zeros wins, in whatever order the taps are taken.
    {"zeros=first, planes", "global_min_pool3d(float16[2,5,2,3,33], nan=ignore, zeros=first)"},
    {"zeros=first, rows", "max_pool1d(float32[2,3,96], kernel_size=32, zeros=first)"},
    {"zeros=first, few columns more than lanes", "global_max_pool2d(float64[2,5,7,9], zeros=first)"},
    {"zeros=first, unlike windows",
     "adaptive_max_pool2d(bfloat16[2,3,5,139], output_size=[2,3], zeros=first)"},
    {"zeros=first, a short window at the end",
     "min_pool2d(float32[3,14,9,19], kernel_size=[9,19], padding=4, ceil_mode=plain, zeros=first)"},
    // Sums of int64 have two digits.
    {"int64, planes", "global_avg_pool2d(int64[1,1,11,404], output_dtype=float32)"},
    {"int64, unlike windows", "adaptive_avg_pool2d(int64[2,6,106], output_size=3, rounding=half_away)"},
    {"int64, a tail", "sum_pool1d(int64[2,3,77], kernel_size=77)"},
    // One window along a dimension, whose taps are not all of it.
    {"dilated", "sum_pool2d(float32[1,20,8,127], kernel_size=[1,64], dilation=2, ceil_mode=plain)"},
    // Rows are not what is adjacent.
    {"one column", "avg_pool3d(int16[2,5,5,11,1], kernel_size=1, dilation=2, count_include_pad=False)"},
    {"one column, windows", "max_pool3d(float32[3,7,11,35,1], kernel_size=[1,3,1], stride=[3,1,1])"},
    {"one column, quantized",
     "quantized_max_pool3d(qint8[2,9,16,17,1], kernel_size=1, stride=[8,2,2], padding=[0,1,0], dilation=3, "
     "ceil_mode=True, scale=0.1, zero_point=7)"},
    {"adjacent rows",
     "prod_pool3d(int16[2,6,36,16,19], kernel_size=[1,1,19], stride=[3,3,19], ceil_mode=True, "
     "strides=[65664,10944,304,1,16])"},
    {"adjacent rows, an operand",
     "sum_pool2d(float16[3,4,39,21], kernel_size=[1,21], stride=[4,21], epilogue=[mul], output_layout=nhwc, "
     "strides=[3276,819,1,39])"},
    // Gradients of sums are sums.
    {"gradient of a sum, a wide window",
     "sum_pool3d_backward(float32[1,1,2,308], kernel_size=[1,1,39], stride=1, padding=[0,0,19])"},
    {"gradient of a sum, dilated",
     "sum_pool2d_backward(bfloat16[2,3,5,300], kernel_size=[2,40], stride=1, padding=[1,0], ceil_mode=True, "
     "dilation=[2,3])"},
    // More unlike windows in a row than a few.
    {"many unlike windows", "adaptive_max_pool1d(int8[16,1964], output_size=21)"},
    {"many unlike windows, several rows", "adaptive_avg_pool2d(float32[2,4,2960], output_size=[3,34])"},
    // Many outputs that read the same windows.
    {"runs of alike windows", "adaptive_avg_pool3d(bfloat16[7,1,12,1144], output_size=[4,3,71])"},
    {"runs of alike windows, steps rounded up", "adaptive_max_pool2d(float64[2,3,1529], output_size=[3,90])"},
    {"runs of alike windows with indices",
     "adaptive_max_pool2d(int16[2,3,3242], output_size=[1,128], return_indices=True)"},
    {"runs of alike windows, several a period",
     "adaptive_avg_pool2d(float32[2,3,3,662], output_size=[3,66])"},
    // The nearer dimension has fewer elements.
    {"lanes in the farther dimension",
     "avg_pool1d(float64[2,86,76], kernel_size=1, dilation=3, ceil_mode=plain, strides=[13072,2,172])"},
    {"gradient of a few long windows", "adaptive_avg_pool2d_backward(float32[1,2,5,323], output_size=3)"},
    {"gradient of a few long maxima", "adaptive_max_pool2d_backward(float32[1,2,5,323], output_size=3)"},
    {"a few columns, many outputs", "adaptive_avg_pool2d(float32[1,2,3,8], output_size=[3,501])"},
    {"columns of one element",
     "sum_pool3d(float64[2,5,3,20,1], kernel_size=[1,20,1], strides=[400,80,20,1,3])"},
};

TEST(OneLane, IsLeftToLayersWithoutAdjacentTaps) {
  for (const auto& [what, spec] : causes)
    for (const IsaInfo& isa : isa_table) {
      const PoolNest nest = frontend::make_nest(*frontend::parse_spec(spec));
      EXPECT_GT(enumerate_schedules(nest, isa.isa, 1).front().lanes, 1) << what << " " << isa.text;
      const auto report = runtime::check(spec, {.schedules = runtime::CheckOptions::Schedules::best,
                                                .isa = isa.isa,
                                                .backend = runtime::Engine::xbyak});
      ASSERT_TRUE(report) << what << "\n" << to_string(report.error());
      EXPECT_TRUE(report->ok()) << what << "\n" << runtime::print(*report);
    }
}

}  // namespace
}  // namespace pooljit::ir
