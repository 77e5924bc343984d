// Vectors of elements that lie apart: every schedule with them is right, they are taken where nothing lies
// next to each other, and nowhere else.
#include <gtest/gtest.h>

#include <algorithm>

#include "frontend/pool_spec.h"
#include "ir/choose/enumerate.h"
#include "ir/choose/shortlist.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/layer.h"
#include "ir/schedules/space.h"
#include "lab/check.h"
#include "tests/schedule_words.h"

namespace pooljit::ir {
namespace {

PoolNest nest_of(const char* spec) { return frontend::make_nest(*frontend::parse_spec(spec)); }

// One of each family, scan and tail, with the most lanes and with two.
std::vector<Schedule> schedules_apart(const PoolNest& nest, Isa isa) {
  std::vector<Schedule> found;
  for (const Schedule& one : legal_schedules(nest, isa)) {
    const auto is_alike = [&](const Schedule& other) {
      return one.family() == other.family() && scan_of(one) == scan_of(other) && one.tail == other.tail &&
             (one.lanes > 2) == (other.lanes > 2);
    };
    if (holds_lanes_apart(nest, one) && std::ranges::none_of(found, is_alike)) found.push_back(one);
  }
  return found;
}

// The default has vectors, and it and a few others are right.
void expect_vectors(const char* spec, Isa isa) {
  EXPECT_GT(enumerate_schedules(nest_of(spec), isa, 1).front().lanes, 1) << spec;
  const auto report = runtime::check(
      spec,
      {.schedules = runtime::CheckOptions::Schedules::best, .isa = isa, .backend = runtime::Engine::xbyak});
  ASSERT_TRUE(report) << spec << "\n" << to_string(report.error());
  EXPECT_TRUE(report->ok()) << runtime::print(*report);
}

TEST(LanesApart, EveryScheduleIsRight) {
  const char* specs[] = {
      // Columns: 2 to 8 apart, of each size of elements; borders; strides; blocks of channels that are one.
      "max_pool2d(float32[1,2,7,37], kernel_size=3, stride=2, padding=1, strides=[2000,1000,80,2])",
      "avg_pool2d(float32[1,2,7,37], kernel_size=3, stride=1, padding=1, strides=[3000,1500,120,3])",
      "max_pool2d(uint8[1,2,5,70], kernel_size=3, stride=1, padding=1, strides=[2000,1000,150,2])",
      "avg_pool2d(bfloat16[1,1,5,40]:nchw8c, kernel_size=[3,2], stride=[1,2], padding=1)",
      "sum_pool1d(int64[2,1,19]:nchw16c, kernel_size=4, padding=2, output_dtype=float32)",
      "lp_pool1d(float64[1,3,23], kernel_size=5, stride=1, strides=[600,200,8], output_strides=[300,100,3])",
      "min_pool2d(int16[1,2,4,21], kernel_size=2, return_indices=True, index_scope=window, "
      "strides=[500,250,50,2])",
      "adaptive_avg_pool2d(float32[1,2,5,22], output_size=[2,9], strides=[500,250,48,2])",
      "max_pool1d_backward(float32[1,2,30], kernel_size=3, stride=2, strides=[64,32,2])",
      "avg_pool1d_backward(bfloat16[1,1,30]:nchw8c, kernel_size=3, stride=2, count_include_pad=False)",
      // Rows that lie nearer than columns.
      "prod_pool3d(int32[2,3,4,18,9], kernel_size=[2,3,2], stride=[1,1,2], strides=[3888,1296,324,2,36])",
      "avg_pool2d(uint8[1,2,30,7], kernel_size=3, stride=2, padding=1, strides=[1300,650,3,91])",
      // Taps of a window's row: dilated, in planes and rows of which every second column is another's.
      "sum_pool2d(float32[1,5,3,45], kernel_size=[1,23], stride=[1,30], dilation=2, output_layout=nchw16c)",
      "avg_pool2d(uint8[2,3,4,70], kernel_size=[2,17], stride=[2,18], dilation=[1,3])",
      "global_max_pool2d(float32[2,3,7,11], strides=[500,160,22,2])",
      "max_pool1d(bfloat16[2,3,64], kernel_size=32, return_indices=True, strides=[500,160,2])",
      "adaptive_avg_pool1d(float64[2,3,71], output_size=3, strides=[500,160,2])",
      // Channels: a pixel of which every second one is another's; planes of one output; all one element.
      "max_pool2d(float32[1,19,5,6]:nhwc, kernel_size=3, stride=1, strides=[4000,2,300,40])",
      "avg_pool2d(uint8[1,70,4,5]:nhwc, kernel_size=2, strides=[4000,2,900,150], epilogue=[add(float32)])",
      "global_max_pool2d(int64[2,9,3,5], return_indices=True, index_scope=tensor, storage_order=1)",
      "sum_pool2d(float16[1,13,4,6]:nhwc, kernel_size=[2,3], strides=[100,0,24,4], output_layout=nchw8c)",
      "lp_pool2d_backward(float32[1,9,5,6]:nhwc, kernel_size=2, strides=[400,2,80,20])",
  };
  int checked = 0;
  for (const char* spec : specs)
    for (const IsaInfo& isa : isa_table)
      for (const Schedule& one : schedules_apart(nest_of(spec), isa.isa)) {
        ++checked;
        const auto report =
            runtime::check(spec, {.isa = isa.isa, .schedule = one, .backend = runtime::Engine::xbyak});
        ASSERT_TRUE(report) << spec << " " << print(one) << "\n" << to_string(report.error());
        EXPECT_TRUE(report->ok()) << runtime::print(*report);
      }
  EXPECT_GT(checked, 200);
}

TEST(LanesApart, AreTakenWhereNothingLiesNextToEachOther) {
  const struct {
    const char* spec;
    Family family;
  } table[] = {
      {"max_pool2d(float32[1,16,56,56], kernel_size=3, stride=2, padding=1, strides=[100352,6272,112,2])",
       Family::channels_first},
      {"max_pool2d(float32[1,16,56,56], kernel_size=3, stride=1, padding=1, strides=[150528,9408,168,3])",
       Family::channels_first},
      {"avg_pool2d(bfloat16[1,1,28,56]:nchw8c, kernel_size=3, stride=1, padding=1)", Family::channels_first},
      {"avg_pool2d(float32[1,64,14,14]:nhwc, kernel_size=3, stride=1, padding=1, "
       "strides=[25088,2,1792,128])",
       Family::channels_last},
      {"global_max_pool2d(float32[1,64,7,7], return_indices=True, index_scope=tensor, storage_order=1)",
       Family::channels_last},
      {"global_max_pool2d(float32[1,3,32,32], strides=[6144,2048,64,2])", Family::window_rows},
  };
  for (const auto& row : table)
    for (const IsaInfo& isa : isa_table) {
      const PoolNest nest = nest_of(row.spec);
      const Schedule schedule = enumerate_schedules(nest, isa.isa, 1).front();
      EXPECT_EQ(schedule.family(), row.family) << row.spec;
      EXPECT_TRUE(holds_lanes_apart(nest, schedule)) << row.spec << " " << print(schedule);
      // What measures at the first use has the same choice.
      EXPECT_TRUE(std::ranges::any_of(shortlist(nest, isa.isa, 6), [&](const Schedule& one) {
        return holds_lanes_apart(nest, one);
      })) << row.spec;
    }
}

// A gradient's dimension of one window: no position looks at others.
TEST(LanesApart, SingleWindowsHaveNoNeighbours) {
  const struct {
    const char* spec;
    std::vector<int64_t> strides;
  } table[] = {
      {"min_pool2d_backward(float32[2,4,9,17], kernel_size=[3,17], stride=1)", {1, 17}},
      {"max_pool2d_backward(bfloat16[2,9,7,5]:nhwc, kernel_size=[7,3], stride=1)", {7, 1}},
      {"avg_pool2d_backward(float32[2,4,9,30], kernel_size=[9,30], stride=2, padding=1, "
       "count_include_pad=False)",
       {2, 2}},  // of 2 by 2 windows
      {"max_pool1d_backward(float32[2,3,31], kernel_size=11, stride=2, dilation=3)", {31}},
      {"lp_pool1d_backward(float64[2,3,12], kernel_size=12, stride=5)", {12}},
      {"sum_pool1d_backward(float32[2,3,11], kernel_size=11, stride=3)", {11}},
      {"max_pool1d_backward(float32[2,3,9], kernel_size=4, stride=7)", {7}},
  };
  for (const auto& row : table)
    for (const IsaInfo& isa : isa_table) {
      const PoolNest nest = nest_of(row.spec);
      const auto layer = Layer::of(nest, isa.isa);
      ASSERT_TRUE(layer) << row.spec;
      for (size_t d = 0; d < row.strides.size(); ++d)
        EXPECT_EQ(layer->nest().dims[d].stride, row.strides[d]) << row.spec << " " << isa.text;
      expect_vectors(row.spec, isa.isa);
    }
}

// Rows that lie nearer than columns are done as if they were columns, where vectors can have the gaps in
// between.
TEST(LanesApart, AreOfTheNearestDimension) {
  const struct {
    const char* spec;
    bool are_rows_nearest;
  } table[] = {
      {"prod_pool3d(int32[4,3,81,18,78], kernel_size=3, stride=1, strides=[682344,227448,2808,2,36])", true},
      {"max_pool2d(float32[1,3,30,9], kernel_size=2, strides=[3240,1080,4,120])", true},
      {"max_pool2d(float32[1,3,30,9], kernel_size=2, strides=[2430,810,3,10])", false},  // not much nearer
      {"max_pool2d(float32[1,3,30,9], kernel_size=2, strides=[4050,1350,5,150])",
       false},  // too far for a vector
      {"max_pool2d(float64[1,3,30,9], kernel_size=2, strides=[2430,810,3,90])", false},
      {"max_pool2d(float32[1,3,30,9], kernel_size=2, strides=[1620,3,2,540])", false},  // channels as near
      {"lp_pool2d(float32[1,3,30,9], kernel_size=2, strides=[1620,540,2,60])",
       false},  // the order of taps counts
  };
  for (const auto& row : table)
    for (const IsaInfo& isa : isa_table) {
      const PoolNest nest = nest_of(row.spec);
      const auto layer = Layer::of(nest, isa.isa);
      ASSERT_TRUE(layer) << row.spec;
      const bool is_turned = layer->nest().input.strides != nest.input.strides;
      EXPECT_EQ(is_turned, row.are_rows_nearest && isa.masks_narrow) << row.spec << " " << isa.text;
    }
}

TEST(LanesApart, AreNoneOfLayersWhoseElementsLieTogether) {
  const char* specs[] = {
      "max_pool2d(float32[1,16,28,28], kernel_size=3, stride=2, padding=1)",
      "avg_pool2d(uint8[1,16,28,28]:nhwc, kernel_size=3, stride=1, padding=1)",
      "avg_pool2d(bfloat16[1,16,28,28]:nchw8c, kernel_size=3, stride=1, padding=1)",
      "max_pool2d(float32[1,3,28,28]:nhwc, kernel_size=3, output_layout=nchw)",
      "max_pool2d(float32[1,3,28,28], kernel_size=3, output_layout=nhwc)",
  };
  for (const char* spec : specs)
    for (const IsaInfo& isa : isa_table)
      for (const Schedule& one : legal_schedules(nest_of(spec), isa.isa))
        EXPECT_FALSE(holds_lanes_apart(nest_of(spec), one)) << spec << " " << print(one);
}

// Gradients of many columns, whose windows are read from tables: channels that lie apart, and rows too long
// for straight-line code. Bytes and halves that AVX2 loads one by one.
TEST(LanesApart, GradientsOfLongRowsAndNarrowElementsHaveVectors) {
  const char* specs[] = {
      "avg_pool3d_backward(float32[2,62,1,1,135]:nhwc, kernel_size=1, stride=4, padding=[0,0,0,3,3,3], "
      "divisor_override=21, strides=[4340,2,34720,34720,124])",
      "max_pool3d_backward(float64[1,1,3,365], kernel_size=[1,5,32], stride=1, padding=[0,6,20,0,2,16])",
      "max_pool2d_backward(float32[1,2,5,190], kernel_size=[3,50], stride=[1,4], padding=[0,1])",
      "avg_pool2d_backward(float64[1,2,5,75], kernel_size=[2,38], stride=1, padding=[0,5])",
      "max_pool3d_backward(float64[1,1,5,395], kernel_size=[1,16,40], stride=1, padding=[0,8,20])",
      "avg_pool2d(bfloat16[2,15,177,8], kernel_size=[10,4], stride=[4,8], padding=1, dilation=[2,1])",
  };
  for (const char* spec : specs)
    for (const IsaInfo& isa : isa_table) expect_vectors(spec, isa.isa);
}

// With padding far beyond the windows, border outputs are many and alike: loops, not code for each.
TEST(LanesApart, RowsPaddedBeyondTheirWindowsHaveVectors) {
  const char* specs[] = {
      "sum_pool1d(int32[1,3,419], kernel_size=8, stride=1, padding=200)",
      "min_pool1d(float16[1,3,419], kernel_size=8, stride=1, padding=200)",
      "avg_pool1d(int32[1,3,419], kernel_size=5, stride=1, padding=[200,90], output_dtype=uint8)",
      "max_pool1d(int64[1,2,140], kernel_size=8, stride=1, padding=[200,50], return_indices=True)",
  };
  for (const char* spec : specs)
    for (const IsaInfo& isa : isa_table) expect_vectors(spec, isa.isa);
}

}  // namespace
}  // namespace pooljit::ir
