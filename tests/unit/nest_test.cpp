// Windows, runs and interior of one dimension, against definitions written out tap by tap.
#include "ir/nest.h"

#include <gtest/gtest.h>

#include <functional>

namespace pooljit::ir {
namespace {

std::string describe(const NestDim& dim) {
  PoolNest nest;
  nest.dims = {dim};
  return nest.print();
}

// The definition: step over every tap and see where it lies.
Window window_by_stepping(const NestDim& dim, int64_t output) {
  Window window;
  window.step = dim.dilation;
  const int64_t start = output * dim.stride - dim.pad_begin;
  for (int64_t tap = 0; tap < dim.kernel; ++tap) {
    const int64_t position = start + tap * dim.dilation;
    if (position < dim.input + dim.pad_end) ++window.padded_taps;
    if (position < 0 || position >= dim.input || position >= dim.input + dim.pad_end) continue;
    if (window.taps++ == 0) {
      window.first = position;
      window.first_tap = tap;
    }
  }
  return window;
}

// Every small dimension, with more outputs than a spec would ask for, so that windows end far in padding.
void for_each_dim(const std::function<void(const NestDim&)>& visit) {
  for (int64_t input : {1, 2, 3, 5, 8, 13})
    for (int64_t kernel : {1, 2, 3, 4, 7})
      for (int64_t stride : {1, 2, 3, 5})
        for (int64_t dilation : {1, 2, 3})
          for (int64_t pad_begin : {0, 1, 2, 5, 20})
            for (int64_t pad_end : {-4, -1, 0, 1, 3, 17})
              for (int64_t output : {1, 2, 6, 40}) {
                NestDim dim;
                dim.input = input, dim.output = output, dim.kernel = kernel, dim.stride = stride;
                dim.dilation = dilation, dim.pad_begin = pad_begin, dim.pad_end = pad_end;
                visit(dim);
              }
}

TEST(Nest, WindowIsItsTapsCounted) {
  for_each_dim([](const NestDim& dim) {
    for (int64_t output = 0; output < dim.output; ++output)
      ASSERT_TRUE(dim.window(output) == window_by_stepping(dim, output)) << output << " of " << describe(dim);
  });
}

TEST(Nest, RunsCoverTheOutputsInOrderWithEqualTaps) {
  for_each_dim([](const NestDim& dim) {
    int64_t next = 0;
    for (const ir::Run& run : runs(dim)) {
      ASSERT_EQ(run.begin, next) << describe(dim);
      ASSERT_LT(run.begin, run.end) << describe(dim);
      for (int64_t output = run.begin; output < run.end; ++output) {
        Window expected = run.window;
        if (expected.taps > 0) expected.first += (output - run.begin) * dim.stride;
        ASSERT_TRUE(dim.window(output) == expected) << output << " of " << describe(dim);
      }
      next = run.end;
    }
    ASSERT_EQ(next, dim.output) << describe(dim);
  });
}

TEST(Nest, RunsAreMaximal) {
  for_each_dim([](const NestDim& dim) {
    const std::vector<ir::Run> all = runs(dim);
    for (size_t i = 1; i < all.size(); ++i) {
      const Window &a = all[i - 1].window, &b = all[i].window;
      ASSERT_FALSE(a.taps == b.taps && a.first_tap == b.first_tap && a.padded_taps == b.padded_taps)
          << describe(dim);
    }
  });
}

TEST(Nest, InteriorIsTheFullWindows) {
  for_each_dim([](const NestDim& dim) {
    const Interior inside = interior(dim);
    ASSERT_LE(0, inside.begin) << describe(dim);
    ASSERT_LE(inside.begin, inside.end) << describe(dim);
    ASSERT_LE(inside.end, dim.output) << describe(dim);
    for (int64_t output = 0; output < dim.output; ++output)
      ASSERT_EQ(dim.window(output).taps == dim.kernel, inside.begin <= output && output < inside.end)
          << output << " of " << describe(dim);
  });
}

TEST(Nest, RunsOfALargeDimensionAreFew) {
  NestDim dim;
  dim.input = int64_t{1} << 40, dim.kernel = 3, dim.pad_begin = dim.pad_end = 1, dim.output = dim.input;
  const std::vector<ir::Run> all = runs(dim);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].begin, 1);
  EXPECT_EQ(all[1].end, dim.output - 1);
}

TEST(Nest, DilatedWindowsAreClippedByStepping) {
  NestDim dim;
  dim.input = 6, dim.kernel = 3, dim.dilation = 2, dim.pad_begin = dim.pad_end = 1, dim.output = 4;
  const Window window = dim.window(0);  // taps at -1, 1, 3; max(start, 0) would begin at 0
  EXPECT_EQ(window.first, 1);
  EXPECT_EQ(window.first_tap, 1);
  EXPECT_EQ(window.taps, 2);
}

TEST(Nest, DivisorRules) {
  PoolNest nest;
  nest.reduction = Reduction::avg;
  NestDim dim;
  dim.input = 17, dim.kernel = 2, dim.stride = 2, dim.pad_begin = dim.pad_end = 1, dim.output = 9;
  nest.dims = {dim, dim};
  const auto at = [&](int64_t y, int64_t x) {
    return divisor(nest, {nest.dims[0].window(y), nest.dims[1].window(x)});
  };
  EXPECT_EQ(at(0, 0), 4);
  nest.count_include_pad = false;
  EXPECT_EQ(at(0, 0), 1);
  EXPECT_EQ(at(0, 3), 2);
  EXPECT_EQ(at(3, 3), 4);
  nest.divisor_override = -7;
  EXPECT_EQ(at(0, 0), -7);
}

TEST(Nest, DivisorOfAnEmptyWindowIsOne) {
  PoolNest nest;
  NestDim dim;
  dim.input = 1, dim.pad_begin = 3, dim.output = 1;
  nest.dims = {dim};
  EXPECT_EQ(dim.window(0).taps, 0);
  EXPECT_EQ(divisor(nest, {dim.window(0)}), 1);
}

TEST(Nest, TheLastCeilWindowCountsLessOfThePadding) {
  NestDim dim;  // 4 long, kernel 3, stride 2, padding 1, ceil: the last window covers 3, 4 and beyond the pad
  dim.input = 4, dim.kernel = 3, dim.stride = 2, dim.pad_begin = dim.pad_end = 1, dim.output = 3;
  EXPECT_EQ(dim.window(2).taps, 1);
  EXPECT_EQ(dim.window(2).padded_taps, 2);
}

}  // namespace
}  // namespace pooljit::ir
