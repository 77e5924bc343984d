// max_unpool through the public interface, against tables worked out by hand.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "pooljit.hpp"
#include "runtime/compile.h"

namespace pooljit {
namespace {

using Floats = std::vector<float>;

template <typename Index>
Floats unpool(const std::string& spec, const Floats& values, const std::vector<Index>& indices,
              const Options& options = {}) {
  const Kernel kernel = compile(spec, options);
  Floats output(kernel.output_bytes() / sizeof(float), 99);
  kernel.run(values.data(), output.data(), const_cast<Index*>(indices.data()));
  return output;
}

TEST(Unpool, ValuesGoWhereTheirIndicesSay) {
  EXPECT_EQ(unpool<int64_t>("max_unpool2d(float32[1,2,2], 2)", {6, 8, 14, 16}, {5, 7, 13, 15}),
            (Floats{0, 0, 0, 0, 0, 6, 0, 8, 0, 0, 0, 0, 0, 14, 0, 16}));
}

TEST(Unpool, OutputSizeIsRespected) {
  EXPECT_EQ(unpool<int64_t>("max_unpool1d(float32[1,2], 2, output_size=5)", {7, 9}, {4, 0}),
            (Floats{9, 0, 0, 0, 7}));
}

TEST(Unpool, TheLastOfTwoValuesWithOneIndexStands) {
  for (const int threads : {1, 2})
    EXPECT_EQ(unpool<int64_t>("max_unpool1d(float32[2,3], 1)", {1, 2, 3, 4, 5, 6}, {1, 1, 1, 0, 2, 0},
                              {.threads = threads}),
              (Floats{0, 3, 0, 6, 0, 5}));
}

TEST(Unpool, GoesBackFromMaxPoolInEveryScope) {
  const struct {
    const char* options;
    int bytes;
  } rows[] = {{"", 8},
              {", index_scope=plane, index_dtype=int32", 4},
              {", index_scope=tensor, storage_order=1", 8},
              {", index_scope=nhwc", 8},
              {", index_scope=nhwc_batch", 8},
              {", index_scope=window, index_dtype=uint8", 1}};
  Floats image(size_t{2} * 3 * 6 * 8);
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i * 37 % 101) + 1;
  for (const auto& row : rows)
    for (const char* layout : {"", ":nhwc", ":nchw8c"}) {
      SCOPED_TRACE(std::string(row.options) + layout);
      const std::string tail = row.options;
      const Kernel pool = compile("max_pool2d(float32[2,3,6,8]" + std::string(layout) +
                                  ", 2, return_indices=True" + tail + ")");
      const Kernel back = compile("max_unpool2d(float32[2,3,3,4]" + std::string(layout) + ", 2" + tail + ")");
      Floats x(pool.input_bytes() / sizeof(float)), values(pool.output_bytes() / sizeof(float));
      for (size_t i = 0; i < x.size(); ++i) x[i] = image[i % image.size()];
      std::vector<std::byte> indices(pool.indices_bytes());
      EXPECT_EQ(indices.size(), values.size() * static_cast<size_t>(row.bytes));
      pool.run(x.data(), values.data(), indices.data());
      Floats restored(back.output_bytes() / sizeof(float), 0), again(values.size());
      back.run(values.data(), restored.data(), indices.data());
      std::vector<std::byte> same(indices.size());
      pool.run(restored.data(), again.data(), same.data());
      EXPECT_EQ(again, values);
      EXPECT_EQ(same, indices);
      for (size_t i = 0; i < restored.size(); ++i) EXPECT_TRUE(restored[i] == 0 || restored[i] == x[i]) << i;
    }
}

TEST(Unpool, AnIndexOutOfRangeIsAnErrorAndNothingIsWritten) {
  const Kernel kernel = compile("max_unpool2d(float32[2,1,1,1], 2, index_scope=tensor)");
  const Floats values = {1, 2};
  using Limits = std::numeric_limits<int64_t>;
  for (const int64_t wrong :
       {int64_t{-1}, int64_t{3}, int64_t{8}, int64_t{1} << 40, Limits::min(), Limits::max()}) {
    Floats output(kernel.output_bytes() / sizeof(float), 99);
    std::vector<int64_t> indices = {0, wrong};
    try {
      kernel.run(values.data(), output.data(), indices.data());
      ADD_FAILURE() << wrong << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), "run.index_range");
    }
    EXPECT_EQ(output, Floats(output.size(), 99));
  }
}

// Whichever of windows and channels the inner loop is over, and however they are cut.
void expect_moved(const std::string& spec, int64_t channels, bool is_last, bool is_gradient) {
  SCOPED_TRACE(spec);
  constexpr int64_t batch = 2;
  const Kernel kernel = compile(spec);
  Floats x(kernel.input_bytes() / sizeof(float)), output(kernel.output_bytes() / sizeof(float), 99);
  Floats expected(output.size(), 0);
  const int64_t planes = batch * channels;
  const int64_t windows = std::ssize(is_gradient ? output : x) / planes;
  const int64_t places = std::ssize(is_gradient ? x : output) / planes;
  std::vector<int64_t> indices(static_cast<size_t>(planes * windows));
  const auto at = [&](int64_t plane, int64_t i, int64_t of) {
    const int64_t n = plane / channels, c = plane % channels;
    return static_cast<size_t>(is_last ? (n * of + i) * channels + c : plane * of + i);
  };
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  for (int64_t plane = 0; plane < planes; ++plane)
    for (int64_t i = 0; i < windows; ++i) {
      const int64_t place = (i * 7919 + 31 * plane) % places;
      indices[at(plane, i, windows)] = place;
      if (is_gradient)
        expected[at(plane, i, windows)] = x[at(plane, place, places)];
      else
        expected[at(plane, place, places)] = x[at(plane, i, windows)];
    }
  kernel.run(x.data(), output.data(), indices.data());
  EXPECT_TRUE(output == expected);
}

TEST(Unpool, AnyNumberOfChannelsAndWindows) {
  for (const char* extents : {"1,1", "1,3", "2,5", "40,31"})
    for (const int64_t channels : {1, 2, 3, 16, 17, 40})
      for (const bool is_last : {false, true})
        for (const bool is_gradient : {false, true})
          expect_moved("max_unpool2d" + std::string(is_gradient ? "_backward" : "") + "(float32[2," +
                           std::to_string(channels) + "," + extents + "]" + (is_last ? ":nhwc" : "") + ", 2)",
                       channels, is_last, is_gradient);
}

TEST(Unpool, TheFirstWrongIndexIsNamedHoweverManyThreadsLook) {
  std::vector<int64_t> indices(size_t{2} * 40 * 32 * 32, 0);
  const Floats values(indices.size());
  indices[70'000] = -7;
  indices[30'005] = 4096;  // of 64 x 64 places
  for (const char* layout : {"", ":nhwc"})
    for (const int threads : {1, 2, 3}) {
      const Kernel kernel =
          compile("max_unpool2d(float32[2,40,32,32]" + std::string(layout) + ", 2)", {.threads = threads});
      Floats output(kernel.output_bytes() / sizeof(float));
      try {
        kernel.run(values.data(), output.data(), indices.data());
        ADD_FAILURE() << "was accepted";
      } catch (const Error& error) {
        const char* const place = *layout ? "4096 at n=0 c=5 [23,14]" : "4096 at n=0 c=29 [9,21]";
        EXPECT_NE(std::string(error.what()).find(place), std::string::npos) << error.what();
      }
    }
}

// Planes that are not filled at once, whose indices lead far ahead and back.
TEST(Unpool, LargePlanesAreFilledBeforeTheirValuesCome) {
  constexpr int64_t channels = 3, side = 150, values = side * side, places = 4 * values;
  for (const bool is_last : {false, true})
    for (const char* scope : {"plane", "tensor", "nhwc", "plane, output_strides=[270601,90200,300,1]"}) {
      SCOPED_TRACE(std::string(scope) + (is_last ? " nhwc" : ""));
      const bool has_gaps = std::string(scope).find("output") != std::string::npos;
      const Kernel kernel = compile("max_unpool2d(float32[1,3,150,150]" +
                                    std::string(is_last ? ":nhwc" : "") + ", 2, index_scope=" + scope + ")");
      Floats x(size_t{channels} * values), output(kernel.output_bytes() / sizeof(float), 99);
      Floats expected(output.size(), has_gaps ? 99 : 0);
      std::vector<int64_t> indices(x.size());
      const auto at = [&](int64_t place, int64_t c) {
        if (has_gaps) return size_t(c * 90200 + place);
        return size_t(is_last ? place * channels + c : c * places + place);
      };
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t place = 0; place < places; ++place) expected[at(place, c)] = 0;
        for (int64_t i = 0; i < values; ++i) {
          const auto number = size_t(is_last ? i * channels + c : c * values + i);
          const int64_t place = i % 7 == 0 ? i * 7919 % places : i * 4;
          x[number] = float(number + 1);
          indices[number] = scope == std::string("tensor") ? c * places + place
                            : scope == std::string("nhwc") ? place * channels + c
                                                           : place;
          expected[at(place, c)] = x[number];
        }
      }
      kernel.run(x.data(), output.data(), indices.data());
      EXPECT_TRUE(output == expected);
    }
}

TEST(Unpool, GapsBetweenRowsAreLeftAlone) {
  const Kernel kernel = compile("max_unpool2d(float32[1,2,3], 2, output_strides=[100,10,1])");
  Floats output(kernel.output_bytes() / sizeof(float), 99), expected = output;
  const Floats values = {1, 2, 3, 4, 5, 6};
  std::vector<int64_t> indices = {0, 3, 5, 12, 21, 23};
  kernel.run(values.data(), output.data(), indices.data());
  // Rows of 6 places, 10 elements apart.
  for (size_t row = 0; row < 4; ++row)
    for (size_t column = 0; column < 6; ++column) expected[row * 10 + column] = 0;
  for (size_t i = 0; i < values.size(); ++i)
    expected[size_t(indices[i]) / 6 * 10 + size_t(indices[i]) % 6] = values[i];
  EXPECT_EQ(output, expected);
}

TEST(Unpool, WindowsOfManyTapsAreCountedByDivision) {
  // 70 x 80 taps are more than are listed.
  const Kernel kernel = compile("max_unpool2d(uint8[1,1,2], [70,80], index_scope=window, index_dtype=int32)");
  std::vector<uint8_t> output(kernel.output_bytes(), 99), expected(output.size(), 0);
  std::vector<uint8_t> values = {7, 9};
  std::vector<int32_t> indices = {5599, 81};
  kernel.run(values.data(), output.data(), indices.data());
  expected[size_t{69} * 160 + 79] = 7;
  expected[size_t{1} * 160 + 80 + 1] = 9;
  EXPECT_EQ(output, expected);
  indices[1] = 5600;
  EXPECT_THROW(kernel.run(values.data(), output.data(), indices.data()), Error);
}

TEST(Unpool, ItsGradientReadsEachPlaceAndWritesNoOther) {
  const Kernel kernel = compile("max_unpool2d_backward(int16[1,2,2], 2)");
  std::vector<int16_t> gradient(16), output(4, 99);
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<int16_t>(100 + i);
  std::vector<int64_t> indices = {5, 7, 13, 5};
  kernel.run(gradient.data(), output.data(), indices.data());
  EXPECT_EQ(output, (std::vector<int16_t>{105, 107, 113, 105}));
  indices[2] = 16;
  EXPECT_THROW(kernel.run(gradient.data(), output.data(), indices.data()), Error);
}

}  // namespace
}  // namespace pooljit
