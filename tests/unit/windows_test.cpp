// Adaptive windows and those of the backward pass, against definitions written out position by position.
#include "ir/windows.h"

#include <gtest/gtest.h>

#include <functional>

#include "ir/nest.h"

namespace pooljit::ir {
namespace {

std::string describe(const NestDim& dim) {
  PoolNest nest;
  nest.dims = {dim};
  return nest.print();
}

NestDim adaptive(int64_t input, int64_t output) {
  NestDim dim;
  dim.kind = DimKind::adaptive, dim.input = input, dim.output = output;
  return dim;
}

void for_each_adaptive(const std::function<void(const NestDim&)>& visit) {
  for (int64_t input = 1; input <= 30; ++input)
    for (int64_t output = 1; output <= 30; ++output) visit(adaptive(input, output));
}

// Gathers of every small pooling.
void for_each_gather(const std::function<void(const NestDim&)>& visit) {
  for (int64_t image : {1, 2, 5, 8, 13})
    for (int64_t kernel : {1, 2, 3, 4, 7})
      for (int64_t stride : {1, 2, 3, 4, 6})
        for (int64_t dilation : {1, 2, 3, 4})
          for (int64_t pad_begin : {0, 1, 5})
            for (int64_t pad_end : {-4, -1, 0, 3})
              for (int64_t windows : {1, 2, 6, 11}) {
                NestDim dim;
                dim.kind = DimKind::gather, dim.input = windows, dim.output = image, dim.kernel = kernel;
                dim.stride = stride, dim.dilation = dilation;
                dim.pad_begin = pad_begin, dim.pad_end = pad_end;
                visit(dim);
              }
}

// Rows of pixels, each beside the row of one of their elements.
void for_each_pixels(const std::function<void(const NestDim& pixels, const NestDim& one)>& visit) {
  for (int64_t elements : {1, 2, 3, 5})
    for (int64_t input : {1, 2, 5, 13})
      for (int64_t kernel : {1, 2, 3, 4})
        for (int64_t stride : {2, 3, 4})
          for (int64_t dilation : {1, 2})
            for (int64_t pad : {0, 1})
              for (int64_t pad_end : {-1, 0, 1, 3}) {
                const int64_t extent = dilation * (kernel - 1) + 1, room = input + pad + pad_end - extent;
                if (room < 0) continue;
                NestDim one;
                one.input = input, one.output = room / stride + 1, one.kernel = kernel, one.stride = stride;
                one.dilation = dilation, one.pad_begin = pad, one.pad_end = pad_end;
                NestDim pixels = one;
                pixels.kind = DimKind::pixels, pixels.pixel = elements;
                for (int64_t* extents : {&pixels.input, &pixels.output, &pixels.stride, &pixels.dilation,
                                         &pixels.pad_begin, &pixels.pad_end})
                  *extents *= elements;
                visit(pixels, one);
              }
}

Window adaptive_by_counting(const NestDim& dim, int64_t output) {
  Window window;
  window.first = output * dim.input / dim.output;
  while (window.first * dim.output > output * dim.input) --window.first;
  for (int64_t i = window.first; i * dim.output < (output + 1) * dim.input; ++i) ++window.taps;
  window.padded_taps = window.taps;
  return window;
}

// Looks at every tap of every forward window.
Window gather_by_searching(const NestDim& dim, int64_t position) {
  Window window;
  window.step = dim.tap_step();
  if (position >= dim.output + std::min<int64_t>(dim.pad_end, 0)) return window;
  int64_t last = 0, last_tap = 0;
  for (int64_t output = 0; output < dim.input; ++output)
    for (int64_t tap = 0; tap < dim.kernel; ++tap) {
      if (output * dim.stride - dim.pad_begin + tap * dim.dilation != position) continue;
      if (window.taps++ == 0)
        window.first = output, window.first_tap = tap;
      else {
        EXPECT_EQ(output - last, dim.tap_step()) << describe(dim);
        EXPECT_EQ(tap - last_tap, dim.tap_number_step()) << describe(dim);
      }
      last = output, last_tap = tap;
    }
  window.padded_taps = window.taps;
  return window;
}

void runs_repeat_their_windows(const NestDim& dim) {
  std::vector<int> seen(static_cast<size_t>(dim.output), 0);
  const Period period = dim.period();
  for (const ir::Run& run : runs(dim))
    for (int64_t p = run.begin; p < run.end; ++p)
      for (int64_t i = 0; i < run.phases; ++i) {
        const int64_t output = run.phase + i + p * period.output;
        ASSERT_LT(output, dim.output) << describe(dim);
        ++seen[static_cast<size_t>(output)];
        Window expected = run.window;
        if (expected.taps > 0) {
          expected.first += (p - run.begin) * period.input;
          expected.first_tap += i * tap_of_phase(dim);
        }
        ASSERT_TRUE(dim.window(output) == expected) << output << " of " << describe(dim);
      }
  for (int count : seen) ASSERT_EQ(count, 1) << describe(dim);
}

TEST(Windows, AdaptiveIsFloorAndCeiling) {
  for_each_adaptive([](const NestDim& dim) {
    for (int64_t output = 0; output < dim.output; ++output)
      ASSERT_TRUE(dim.window(output) == adaptive_by_counting(dim, output))
          << output << " of " << describe(dim);
  });
}

TEST(Windows, GatherFindsTheWindowsThatCoverAPosition) {
  for_each_gather([](const NestDim& dim) {
    for (int64_t output = 0; output < dim.output; ++output)
      ASSERT_TRUE(dim.window(output) == gather_by_searching(dim, output))
          << output << " of " << describe(dim);
  });
}

TEST(Windows, OfPixelsAreThoseOfTheirElements) {
  for_each_pixels([](const NestDim& pixels, const NestDim& one) {
    const int64_t elements = pixels.pixel;
    const Interior inside = interior(pixels), expected_inside = interior(one);
    EXPECT_EQ(inside.begin, expected_inside.begin * elements) << describe(pixels);
    EXPECT_EQ(inside.end, expected_inside.end * elements) << describe(pixels);
    const auto expect_like = [&](const Window& found, Window expected, int64_t element) {
      if (expected.taps > 0) expected.first = expected.first * elements + element;
      expected.step *= elements;
      EXPECT_TRUE(found == expected) << describe(pixels);
    };
    for (int64_t output = 0; output < pixels.output; ++output) {
      const int64_t at = output / elements, element = output % elements;
      expect_like(pixels.window(output), one.window(at), element);
      expect_like(pixels.whole_window(output), one.whole_window(at), element);
    }
  });
}

TEST(Windows, RunsCoverEveryOutputOnce) {
  for_each_pixels([](const NestDim& pixels, const NestDim&) { runs_repeat_their_windows(pixels); });
  for_each_adaptive(runs_repeat_their_windows);
  for_each_gather(runs_repeat_their_windows);
}

TEST(Windows, NoneHasMoreThanMostTaps) {
  const auto check = [](const NestDim& dim) {
    for (int64_t output = 0; output < dim.output; ++output)
      ASSERT_LE(dim.window(output).taps, dim.most_taps()) << describe(dim);
  };
  for_each_adaptive(check);
  for_each_gather(check);
}

TEST(Windows, WholeWindowsArePartsOfNothing) {
  const auto check = [](const NestDim& dim) {
    const Interior inside = interior(dim);
    for (int64_t output = 0; output < dim.output; ++output) {
      const Window whole = dim.whole_window(output), window = dim.window(output);
      ASSERT_GE(whole.taps, window.taps) << describe(dim);
      if (window.taps > 0) {
        const int64_t skipped = (window.first - whole.first) / whole.step;
        ASSERT_EQ(window.first, whole.first + skipped * whole.step) << describe(dim);
        ASSERT_EQ(window.first_tap, whole.first_tap + skipped * dim.tap_number_step()) << describe(dim);
      }
      if (inside.begin <= output && output < inside.end) {
        ASSERT_EQ(window.taps, whole.taps) << output << " of " << describe(dim);
      }
    }
    const bool all_whole = [&] {
      for (int64_t output = 0; output < dim.output; ++output)
        if (dim.window(output).taps < dim.whole_window(output).taps) return false;
      return dim.pad_end >= 0;
    }();
    if (all_whole) {
      EXPECT_EQ(inside.begin, 0) << describe(dim);
      EXPECT_EQ(inside.end, dim.output) << describe(dim);
    }
  };
  for_each_adaptive(check);
  for_each_gather(check);
}

TEST(Windows, RunsAreFewWherePeriodsAreShort) {
  EXPECT_EQ(runs(adaptive(224 * 1000, 112 * 1000)).size(), 1u);
  EXPECT_EQ(runs(adaptive(13, 6)).size(), 1u);
  EXPECT_EQ(runs(adaptive(1 << 20, 1 << 22)).size(), 1u);
  EXPECT_LE(runs(adaptive(700, 500)).size(), 5u);
  NestDim dim;
  dim.kind = DimKind::gather;
  dim.kernel = 3, dim.stride = 2, dim.pad_begin = dim.pad_end = 1, dim.input = 1 << 20, dim.output = 1 << 21;
  EXPECT_LE(runs(dim).size(), 4u);
  dim.kernel = dim.stride = 4096, dim.pad_begin = dim.pad_end = 0, dim.input = 10, dim.output = 40960;
  EXPECT_EQ(runs(dim).size(), 1u);
}

TEST(Windows, UsualTapsAreThoseOfMostOutputs) {
  const NestDim dim = adaptive(7, 5);  // 2 2 3 2 2
  EXPECT_EQ(usual_taps(dim, runs(dim)), 2);
  NestDim pool;
  pool.input = 4, pool.output = 4, pool.kernel = 7, pool.pad_begin = pool.pad_end = 3;
  EXPECT_EQ(usual_taps(pool, runs(pool)), 4);  // none is whole, all see everything
  NestDim sparse;
  sparse.kind = DimKind::gather, sparse.stride = 3, sparse.input = 4, sparse.output = 10;
  EXPECT_EQ(usual_taps(sparse, runs(sparse)), 1);
}

}  // namespace
}  // namespace pooljit::ir
