// The C interface for specs with free dims: runs say the size, what needs one and has none says so.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "c_words.h"
#include "pooljit.h"
#include "pooljit_tuning.h"

namespace {

std::string last_id() {
  const std::string text = pooljit_last_error();
  return text.substr(0, text.find(':'));
}

pooljit_info empty_info() {
  pooljit_info info = {};
  info.size = sizeof info;
  return info;
}

constexpr const char* text = "max_pool2d(float32[N,2,H,W], kernel_size=2, return_indices=True)";

class CApiSizes : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pooljit_spec_read(text, nullptr, &spec), POOLJIT_OK) << pooljit_last_error();
    ASSERT_EQ(pooljit_compile(text, nullptr, &kernel), POOLJIT_OK) << pooljit_last_error();
  }
  void TearDown() override {
    pooljit_spec_release(spec);
    pooljit_release(kernel);
  }
  pooljit_spec* spec = nullptr;
  pooljit_kernel* kernel = nullptr;
};

TEST_F(CApiSizes, ARunHasASize) {
  for (const auto& [height, width] : {std::pair(4, 6), std::pair(7, 5), std::pair(4, 6)}) {
    const int64_t dims[] = {height, width};
    pooljit_spec* sized = nullptr;
    ASSERT_EQ(pooljit_spec_sized(spec, dims, 2, &sized), POOLJIT_OK) << pooljit_last_error();
    pooljit_info info = empty_info();
    ASSERT_EQ(pooljit_spec_info(sized, &info), POOLJIT_OK);
    EXPECT_EQ(info.free_dims, 0);
    EXPECT_EQ(info.output.dims[2], height / 2);
    EXPECT_EQ(info.output.dims[3], width / 2);
    constexpr int64_t batch = 3;
    const size_t plane = size_t(height * width), outputs = size_t(info.output_bytes * batch) / sizeof(float);
    pooljit_spec_release(sized);

    std::vector<float> input(batch * 2 * plane), output(outputs);
    for (size_t i = 0; i < input.size(); ++i) input[i] = float(i);
    std::vector<int64_t> indices(outputs);
    void *to = output.data(), *places = indices.data();
    pooljit_args args = {};
    args.size = sizeof args;
    args.input = input.data();
    args.outputs = &to, args.output_count = 1;
    args.indices = &places, args.indices_count = 1;
    args.has_batch = 1, args.batch = batch;
    args.dims = dims, args.dim_count = 2;
    ASSERT_EQ(pooljit_run_with(kernel, &args), POOLJIT_OK) << pooljit_last_error();
    EXPECT_EQ(output[0], float(width + 1));
    EXPECT_EQ(indices[0], width + 1);
    EXPECT_EQ(output.back(),
              input[(batch * 2 - 1) * plane + size_t((height / 2 * 2 - 1) * width + width / 2 * 2 - 1)]);
  }
}

TEST_F(CApiSizes, WhatIsKnownWithoutASize) {
  const auto look = [](const pooljit_info& info) {
    EXPECT_EQ(info.free_dims, 3);
    EXPECT_EQ(info.free_batch, 1);
    EXPECT_STREQ(info.spec, text);
    EXPECT_STREQ(info.input.dtype, "float32");
    EXPECT_STREQ(info.input.layout, "nchw");
    EXPECT_EQ(info.input.dims[1], 2);
    for (const pooljit_tensor* tensor : {&info.input, &info.output, &info.indices}) {
      EXPECT_EQ(tensor->rank, 4);
      for (int d = 0; d < 4; ++d) EXPECT_EQ(tensor->strides[d], 0);
      EXPECT_EQ(tensor->dims[2], 0);
      EXPECT_EQ(tensor->dims[3], 0);
    }
    EXPECT_EQ(info.input_bytes + info.output_bytes + info.indices_bytes, 0);
    EXPECT_EQ(info.indices_count, 1);
  };
  pooljit_info of_spec = empty_info(), of_kernel = empty_info();
  ASSERT_EQ(pooljit_spec_info(spec, &of_spec), POOLJIT_OK);
  ASSERT_EQ(pooljit_kernel_info(kernel, &of_kernel), POOLJIT_OK);
  look(of_spec);
  look(of_kernel);
  EXPECT_TRUE(std::string(of_kernel.schedule).starts_with("channels_first(")) << of_kernel.schedule;
  EXPECT_STREQ(of_kernel.schedule_origin, "one code for all sizes, the default");
}

TEST_F(CApiSizes, WhatNeedsASizeSaysSo) {
  float byte = 0;
  const auto is_refused = [](int code, const char* id) {
    EXPECT_EQ(code, POOLJIT_INVALID);
    EXPECT_EQ(last_id(), id) << pooljit_last_error();
  };
  is_refused(pooljit_run(kernel, &byte, &byte, &byte), "run.dims");
  int parts = 0;
  is_refused(pooljit_useful_parts(kernel, 1, &parts), "run.dims");
  is_refused(pooljit_kernel_output(kernel, 0, nullptr, nullptr), "run.dims");
  is_refused(pooljit_kernel_indices(kernel, 0, nullptr, nullptr), "run.dims");
  pooljit_timing timing = {};
  is_refused(pooljit_time(&kernel, 1, 0.1, &timing), "run.dims");
  is_refused(pooljit_spec_output(spec, 0, nullptr, nullptr), "spec.free");
  is_refused(pooljit_spec_indices(spec, 0, nullptr, nullptr), "spec.free");
  char* why = nullptr;
  is_refused(pooljit_explain(spec, &why), "spec.free");
  pooljit_schedule_list* list = nullptr;
  is_refused(pooljit_schedules(spec, &list), "spec.free");

  pooljit_args args = {};
  args.size = sizeof args;
  is_refused(pooljit_run_with(kernel, &args), "run.dims");
  args.dim_count = 2;
  is_refused(pooljit_run_with(kernel, &args), "run.dims");
  const int64_t dims[] = {1, 9, 9};
  args.dims = dims, args.dim_count = 0;
  is_refused(pooljit_run_with(kernel, &args), "run.dims");
  args.dim_count = 3;
  is_refused(pooljit_run_with(kernel, &args), "spec.sizes");
  args.dim_count = 2;  // too small for a window
  is_refused(pooljit_run_with(kernel, &args), "spec.output_size");
}

TEST_F(CApiSizes, AKernelOfASizeIsOrdinary) {
  const int64_t dims[] = {8, 9}, other[] = {9, 8};
  pooljit_kernel *sized = nullptr, *again = nullptr;
  ASSERT_EQ(pooljit_kernel_sized(kernel, dims, 2, &sized), POOLJIT_OK) << pooljit_last_error();
  pooljit_info info = empty_info();
  ASSERT_EQ(pooljit_kernel_info(sized, &info), POOLJIT_OK);
  EXPECT_STREQ(info.spec, "max_pool2d(float32[N,2,8,9], kernel_size=2, return_indices=True)");
  EXPECT_EQ(info.output_bytes, 2 * 4 * 4 * 4);
  ASSERT_EQ(pooljit_kernel_sized(sized, dims, 2, &again), POOLJIT_OK);
  pooljit_release(again);
  EXPECT_EQ(pooljit_kernel_sized(sized, other, 2, &again), POOLJIT_INVALID);
  EXPECT_EQ(last_id(), "spec.sizes");
  EXPECT_EQ(again, nullptr);
  pooljit_release(sized);
}

TEST(CApiGeneralCode, IsKnownAndProvedWithoutASize) {
  pooljit_kernel *kernel = nullptr, *sized = nullptr;
  pooljit_options options = {};
  options.size = sizeof options;
  options.exact_after = 2;
  const char* const text = "max_pool2d(float32[N,4,H,W]:nhwc, kernel_size=2)";
  ASSERT_EQ(pooljit_compile(text, &options, &kernel), POOLJIT_OK) << pooljit_last_error();
  pooljit_info info = empty_info(), of_size = empty_info();
  ASSERT_EQ(pooljit_kernel_info(kernel, &info), POOLJIT_OK);
  EXPECT_TRUE(std::string(info.schedule).starts_with("interleaved(")) << info.schedule;
  EXPECT_STREQ(info.schedule_origin, "one code for all sizes, the default");
  EXPECT_GT(info.code_bytes, 0);
  const int64_t dims[] = {8, 9};
  ASSERT_EQ(pooljit_kernel_sized(kernel, dims, 2, &sized), POOLJIT_OK) << pooljit_last_error();
  ASSERT_EQ(pooljit_kernel_info(sized, &of_size), POOLJIT_OK);
  EXPECT_STREQ(of_size.spec, "max_pool2d(float32[N,4,8,9]:nhwc, kernel_size=2)");
  EXPECT_STREQ(of_size.signature, info.signature);
  EXPECT_STREQ(of_size.schedule_origin, info.schedule_origin);
  EXPECT_EQ(of_size.code_bytes, info.code_bytes);
  char* proof = nullptr;
  ASSERT_EQ(pooljit_prove(kernel, &proof), POOLJIT_OK) << pooljit_last_error();
  EXPECT_NE(std::string(proof).find(" sizes "), std::string::npos) << proof;
  pooljit_text_release(proof);
  pooljit_release(sized);
  pooljit_release(kernel);
}

TEST(CApiFreeLayers, TextAndStructAreOne) {
  for (const char* each :
       {text, "avg_pool3d(int8[4,D,6,W]:nhwc, kernel_size=2, padding=1)",
        "global_avg_pool2d(float32[N,8,H,W])", "adaptive_max_pool2d(float32[N,8,H,W], output_size=[3,2])",
        "max_pool1d_backward(float32[N,8,L], kernel_size=3)", "max_unpool2d(float32[N,8,H,W], kernel_size=2)",
        "max_pool2d(float32[N,3,H,W], kernel_size=2, strides=[60000,20000,200,1])",
        "pools(float32[N,64,H,W], max_pool2d(kernel_size=5, stride=1, padding=2), "
        "avg_pool2d(kernel_size=3, stride=1, padding=1), concat=True)"}) {
    SCOPED_TRACE(each);
    pooljit_spec *spec = nullptr, *made = nullptr;
    ASSERT_EQ(pooljit_spec_read(each, nullptr, &spec), POOLJIT_OK) << pooljit_last_error();
    pooljit_pools pools = {};
    pools.size = sizeof pools;
    ASSERT_EQ(pooljit_spec_pools(spec, &pools), POOLJIT_OK) << pooljit_last_error();
    EXPECT_NE(pools.members[0].free_dims, 0);
    ASSERT_EQ(pooljit_spec_make_pools(&pools, nullptr, &made), POOLJIT_OK) << pooljit_last_error();
    pooljit_info info = empty_info();
    ASSERT_EQ(pooljit_spec_info(made, &info), POOLJIT_OK);
    EXPECT_STREQ(info.spec, each);
    pooljit_spec_release(made);
    pooljit_spec_release(spec);
  }
  pooljit_layer layer = {};
  layer.size = sizeof layer;
  layer.operation = "max", layer.spatial_rank = 2, layer.free_dims = 1;
  layer.input.dtype = "float32", layer.input.dims[0] = 1, layer.input.dims[1] = 8;
  layer.input.dims[2] = layer.input.dims[3] = 5, layer.kernel[0] = layer.kernel[1] = 2;
  pooljit_spec* spec = nullptr;
  EXPECT_EQ(pooljit_spec_make(&layer, nullptr, &spec), POOLJIT_INVALID);
  EXPECT_NE(std::string(pooljit_last_error()).find("input.dims[2]"), std::string::npos)
      << pooljit_last_error();
  layer.free_dims = 4;
  EXPECT_EQ(pooljit_spec_make(&layer, nullptr, &spec), POOLJIT_INVALID);
  EXPECT_NE(std::string(pooljit_last_error()).find("free_dims"), std::string::npos) << pooljit_last_error();
}

}  // namespace
