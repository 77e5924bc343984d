// What `pooljit bench` measures a kernel against gives the same results, of every direction and layout.
#include "tools/bench_case.h"

#include <gtest/gtest.h>

#include "runtime/compile.h"

namespace pooljit::tools {
namespace {

constexpr const char* specs[] = {
    "max_pool2d(float32[2,5,9,11], kernel_size=3, output_layout=nhwc, return_indices=True)",
    "max_pool2d(uint8[2,19,9,11]:nhwc, kernel_size=3, padding=1, output_layout=nchw, return_indices=True)",
    "avg_pool2d(float32[2,300,6,7]:nhwc, kernel_size=2, output_layout=nchw)",
    "min_pool3d(int16[2,5,4,5,6], kernel_size=2, output_layout=nhwc)",
    "max_pool2d(float32[2,5,9,11], kernel_size=3, output_layout=nhwc, epilogue=[relu, scale_channel, add])",
    "adaptive_avg_pool2d(float32[2,5,9,11], output_size=[4,7])",
    "adaptive_max_pool2d(uint8[2,19,9,11]:nhwc, output_size=[12,3], return_indices=True)",
    "max_pool2d_backward(float32[2,5,9,11], kernel_size=3, stride=2, padding=1)",
    "max_pool2d_backward(float64[2,5,9,11]:nhwc, kernel_size=3, stride=1, dilation=2)",
    "min_pool2d_backward(bfloat16[2,5,9,11]:nhwc, kernel_size=2)",
    "avg_pool2d_backward(float32[2,5,9,11], kernel_size=3, stride=2, padding=1, count_include_pad=False)",
    "avg_pool2d_backward(float16[2,5,9,11]:nhwc, kernel_size=3, stride=2, padding=1)",
    "avg_pool2d_backward(float32[2,5,9,11], kernel_size=3, stride=1, output_layout=nhwc)",
    "sum_pool1d_backward(float32[2,5,40], kernel_size=4, stride=3)",
    "adaptive_max_pool2d_backward(float32[2,5,9,11], output_size=[4,3])",
    "adaptive_avg_pool2d_backward(float32[2,5,8,12], output_size=[4,3])",
    "max_unpool2d(float32[2,5,9,11], kernel_size=2)",
    "max_unpool2d(int8[2,5,9,11]:nhwc, kernel_size=2)",
    "max_unpool2d_backward(float32[2,5,9,11], kernel_size=2)",
    "max_unpool2d_backward(bfloat16[2,5,9,11]:nhwc, kernel_size=3, stride=2)",
    // Views, which both read: rows with gaps, channels innermost in NCHW, planes turned around.
    "max_pool3d(int16[2,5,4,5,6], kernel_size=2, return_indices=True, strides=[1000,200,45,8,1])",
    "min_pool2d(float32[2,5,6,7], kernel_size=[2,3], strides=[210,1,5,30])",
    "avg_pool2d(uint8[2,5,6,7], kernel_size=2, strides=[1100,220,3,31])",
    "max_pool2d(float16[2,300,4,5]:nhwc, kernel_size=2, return_indices=True, strides=[12800,2,3200,640])",
    "sum_pool2d(float64[2,300,4,5]:nhwc, kernel_size=2, strides=[6000,20,1,4])",
    "max_pool2d_backward(float32[2,5,9,11], kernel_size=3, stride=2, strides=[300,60,14,2])",
    "avg_pool2d_backward(bfloat16[2,5,9,11]:nhwc, kernel_size=3, stride=2, strides=[300,2,11,55])",
    // Strides that repeat elements: the same image three times, rows that overlap, one pixel for all.
    "prod_pool2d(int64[3,19,2,8]:nhwc, kernel_size=1, strides=[0,1,152,19])",
    "max_pool2d(uint8[2,3,4,9], kernel_size=2, strides=[50,12,2,1], return_indices=True)",
    "avg_pool2d_backward(float32[2,3,4,4], kernel_size=2, strides=[0,1,0,0])",
    "max_unpool2d(float32[2,3,4,4], kernel_size=2, strides=[0,16,4,1])",
    // Several pools, apart and as parts of one tensor, with what each has of its own.
    "pools(float32[2,5,9,11], max_pool2d(3, return_indices=True), avg_pool2d(2), min_pool2d(2, 1, "
    "return_indices=True))",
    "pools(float32[2,5,9,11]:nhwc, max_pool2d(3, 1, 1), avg_pool2d(5, 1, 2), concat=True, "
    "include_input=True)",
    "pools(uint8[1,5,9,11], max_pool2d(3, 1, 1, return_indices=True), min_pool2d(5, 1, 2), concat=True, "
    "include_input=True, output_layout=nhwc)",
    "pools(float32[2,5,9,11], max_pool2d(3, epilogue=[mul_channel]), avg_pool2d(2, epilogue=[add, "
    "scale_channel]))",
    "pools(float32[2,5,9,11], max_pool2d(3, epilogue=[add]), avg_pool2d(3, epilogue=[add]), concat=True)",
    "pools(int16[2,3,4,5], max_pool2d(2), sum_pool2d(2), strides=[100,30,6,1])",
    "pools(float32[2,3,4,5], max_pool2d(2), avg_pool2d(2), concat=True, output_strides=[200,30,10,2])",
};

TEST(BenchCase, TheLoopsBesideAKernelGiveItsResults) {
  for (const char* spec : specs) {
    const auto kernel = runtime::compile(spec, {});
    ASSERT_TRUE(kernel) << spec << ": " << to_string(kernel.error());
    const auto bench = BenchCase::make(*kernel, 2);
    ASSERT_TRUE(bench) << spec << ": " << to_string(bench.error());
    const auto differences = (*bench)->differences();
    ASSERT_TRUE(differences) << spec << ": " << to_string(differences.error());
    EXPECT_EQ(*differences, 0) << spec;
    (*bench)->run_copy(false);
    (*bench)->run_copy(true);
  }
}

}  // namespace
}  // namespace pooljit::tools
