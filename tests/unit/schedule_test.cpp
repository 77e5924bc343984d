// Schedules as data, and the sentence that an unsuitable one is refused with.
#include "ir/schedule.h"
#include "tests/schedule_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "frontend/pool_spec.h"
#include "ir/choose/enumerate.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "ir/schedules/space.h"
#include "tests/all_isas.h"

namespace pooljit::ir {
namespace {

PoolNest nest_of(const char* spec) { return frontend::make_nest(*frontend::parse_spec(spec)); }
Schedule first(const char* spec, Isa isa) { return enumerate_schedules(nest_of(spec), isa, 1)[0]; }

// max, kernel 3, stride 2, padding 1 on 56 x 56, packed.
PoolNest stem(int64_t channels, bool channels_last, DType dtype = DType::f32) {
  PoolNest nest;
  nest.channels = channels;
  const NestDim dim{
      .input = 56, .output = 28, .kernel = 3, .stride = 2, .dilation = 1, .pad_begin = 1, .pad_end = 1};
  nest.dims = {dim, dim};
  const auto view = [&](int64_t extent) {
    View packed{
        .dtype = dtype, .batch_stride = channels * extent * extent, .channel_stride = 1, .strides = {}};
    if (channels_last) {
      packed.strides = {extent * channels, channels};
    } else {
      packed.channel_stride = extent * extent;
      packed.strides = {extent, 1};
    }
    return packed;
  };
  nest.input = view(56);
  nest.output = view(28);
  return nest;
}

TEST(Schedule, EveryEnumeratedOneLowersAndParsesBack) {
  for (const bool channels_last : {false, true})
    for (const Isa isa : all_isas)
      for (const DType dtype : {DType::f32, DType::u8})
        for (const int64_t channels : {1, 3, 31, 64}) {
          const PoolNest nest = stem(channels, channels_last, dtype);
          const std::vector<Schedule> schedules = enumerate_schedules(nest, isa);
          EXPECT_FALSE(schedules.empty());
          for (const Schedule& schedule : schedules) {
            const Result<Program> program = lower(nest, schedule, isa);
            EXPECT_TRUE(program) << print(schedule) << ": " << to_string(program.error());
            EXPECT_EQ(parse_schedule(print(schedule)), schedule);
          }
        }
}

// A schedule that someone names is lowered or refused, never an internal error.
TEST(Schedule, EachOfTheSpaceLowersOrSaysWhyNot) {
  for (const char* spec : {
           "max_pool2d(float32[1,3,20,20], kernel_size=5, stride=1, padding=2)",
           "max_pool2d(float32[1,3,20,20]:nhwc, kernel_size=5, stride=1, padding=2)",
           "max_pool2d(float32[1,3,40,40], kernel_size=31, stride=1, padding=15)",
           "max_pool2d(uint8[1,3,40,40], kernel_size=7, stride=2, padding=3)",
           "max_pool3d(float32[1,3,8,20,20], kernel_size=[3,5,5], stride=1, padding=[1,2,2])",
           "max_pool2d(float32[1,3,20,20], kernel_size=3, stride=1, dilation=2, return_indices=True)",
           "avg_pool2d(bfloat16[1,20,20,20]:nhwc, kernel_size=5, stride=1, padding=2)",
           "avg_pool2d(float32[1,3,20,20], kernel_size=5, stride=1, padding=2, count_include_pad=False)",
           "adaptive_avg_pool2d(float32[1,3,20,20], output_size=7)",
           "max_pool1d(float32[1,3,200], kernel_size=5)",
       }) {
    const PoolNest nest = nest_of(spec);
    for (const Isa isa : all_isas) {
      size_t lowered = 0;
      for (const Schedule& schedule : schedule_space(nest, isa)) {
        const Result<Program> program = lower(nest, schedule, isa);
        lowered += program ? 1 : 0;
        EXPECT_TRUE(program || !program.error().message.empty()) << spec << ' ' << print(schedule);
      }
      EXPECT_GE(lowered, enumerate_schedules(nest, isa).size()) << spec;
    }
  }
}

TEST(Schedule, PrefersTheFamilyThatFillsItsVectors) {
  EXPECT_EQ(enumerate_schedules(stem(64, true), Isa::avx512)[0].family(), Family::channels_last);
  EXPECT_EQ(enumerate_schedules(stem(64, false), Isa::avx512)[0].family(), Family::channels_first);
  EXPECT_EQ(enumerate_schedules(stem(64, false), Isa::avx512)[0].lanes, 16);
  PoolNest global = stem(64, false);
  for (NestDim& dim : global.dims) dim = {.input = dim.input, .kernel = dim.input, .stride = dim.input};
  EXPECT_EQ(enumerate_schedules(global, Isa::avx512)[0].family(), Family::window_rows);
}

TEST(Schedule, FewChannelsAreDoneWithTheirPixels) {
  const auto family = [](const char* spec) { return first(spec, Isa::avx512).family(); };
  EXPECT_EQ(family("max_pool2d(float32[1,3,24,24]:nhwc, kernel_size=7, stride=1)"), Family::interleaved);
  EXPECT_EQ(family("max_pool2d(float32[1,16,24,24]:nhwc, kernel_size=7, stride=2)"), Family::channels_last);
  // What such a row cannot do: long windows that move by several pixels, indices, gaps, numbers per channel.
  for (const char* spec :
       {"max_pool2d(float32[1,3,24,24]:nhwc, kernel_size=9, stride=2)",
        "max_pool2d(float32[1,3,24,24]:nhwc, kernel_size=7, stride=1, return_indices=True)",
        "max_pool1d(float32[1,3,24], kernel_size=7, stride=1, strides=[96,1,4], output_strides=[54,1,3])",
        "max_pool2d(float32[1,3,24,24]:nhwc, kernel_size=7, stride=1, epilogue=[mul_channel])"}) {
    const auto nest = frontend::parse_spec(spec);
    ASSERT_TRUE(nest) << to_string(nest.error());
    EXPECT_EQ(lower(frontend::make_nest(*nest), schedule_of(Family::interleaved), Isa::avx512).error().id,
              "schedule.strides")
        << spec;
  }
}

TEST(Schedule, LargeWindowsGoThroughScratchMemoryWhereRegistersAreFew) {
  const char* seven = "max_pool2d(float32[1,3,56,56], kernel_size=7, stride=1, padding=3)";
  EXPECT_EQ(first(seven, Isa::avx2).family(), Family::row_passes);
  EXPECT_EQ(first(seven, Isa::avx512).family(), Family::channels_first);
  for (const char* blur : {"avg_pool2d(float32[1,3,1080,1920]:nhwc, kernel_size=31, stride=1, padding=15)",
                           "avg_pool2d(int16[1,3,1080,1920]:nhwc, kernel_size=31, stride=1, padding=15)"})
    for (const Isa isa : all_isas) {
      EXPECT_EQ(first(blur, isa).family(), Family::row_passes) << blur;
      EXPECT_EQ(together(first(blur, isa)), 8) << blur;
    }
  // A row that scratch memory does not hold is done in strips.
  const char* sound = "max_pool1d(float32[1,1,1000000], kernel_size=31, stride=1, padding=15)";
  EXPECT_EQ(first(sound, Isa::avx512).family(), Family::row_passes);
}

// On AVX2, elements that cannot be masked: borders and the ends of rows are not left to be done output by
// output.
TEST(Schedule, NarrowElementsOfAvx2HaveNoBorders) {
  const struct {
    const char* spec;
    Family family;
  } table[] = {
      {"max_pool2d(uint8[1,256,19,19], kernel_size=7, stride=2, padding=3)", Family::whole_planes},
      // channels_first fills the borders of maxima: in rows that are not too short.
      {"max_pool2d(bfloat16[1,512,14,14], kernel_size=7, stride=1, padding=3)", Family::channels_first},
      {"max_pool2d(bfloat16[1,512,12,12], kernel_size=7, stride=1, padding=3)", Family::whole_planes},
      {"max_pool2d(uint8[1,192,28,28], kernel_size=3, stride=1, padding=1)", Family::channels_first},
      {"max_pool2d(uint8[1,512,14,14], kernel_size=3, stride=1, padding=1)", Family::whole_planes},
      {"max_pool2d(int16[1,64,56,56], kernel_size=7, stride=1, padding=3)", Family::channels_first},
      {"avg_pool2d(bfloat16[1,512,7,7], kernel_size=7, stride=1, padding=3)", Family::whole_planes},
      {"max_pool2d(uint8[1,512,14,14], kernel_size=11, stride=1, padding=5)", Family::whole_planes},
      {"max_pool2d(bfloat16[1,512,14,14], kernel_size=13, stride=1, padding=6)", Family::row_passes},
      {"avg_pool2d(bfloat16[1,256,24,24], kernel_size=5, stride=1, padding=2)", Family::channels_first},
      {"max_pool2d(float16[1,16,224,224], kernel_size=3, stride=1, padding=1)", Family::row_passes},
      {"max_pool2d(uint8[1,1,2160,3840], kernel_size=3, stride=1, padding=1)", Family::channels_first},
      {"max_pool1d(uint8[1,332,625], kernel_size=2, stride=1, padding=1)", Family::channels_first},
      {"max_pool1d(float16[1,6931,13], kernel_size=13, stride=1)", Family::window_rows},
      // Straight-line code of more work in the widest vectors only, and not where nothing is padded.
      {"max_pool2d(uint8[1,192,56,56], kernel_size=3, stride=2, padding=1)", Family::whole_planes},
      {"max_pool2d(uint8[1,192,56,56], kernel_size=3, stride=2)", Family::channels_first},
      {"max_pool2d(uint8[1,192,80,80], kernel_size=5, stride=2, padding=2)", Family::channels_first},
      {"max_pool2d(uint8[1,256,27,27], kernel_size=3, stride=2)", Family::whole_planes},
      {"max_pool2d(bfloat16[1,256,65,65], kernel_size=3, stride=1, padding=1)", Family::row_passes},
      {"max_pool2d(uint8[1,256,65,65], kernel_size=3, stride=1, padding=1)", Family::channels_first},
      // Dilated taps share nothing along a row.
      {"max_pool2d(bfloat16[1,128,64,64], kernel_size=3, stride=1, padding=1, dilation=2)",
       Family::row_passes},
      {"max_pool2d(float32[1,128,64,64], kernel_size=3, stride=1, padding=1, dilation=2)",
       Family::row_passes},
      {"max_pool2d(float32[1,128,40,40], kernel_size=3, stride=1, padding=1, dilation=2)",
       Family::row_passes},
      {"max_pool2d(bfloat16[1,128,28,28]:nhwc, kernel_size=3, stride=1, padding=1, dilation=3)",
       Family::row_passes},
      {"max_pool2d(bfloat16[1,128,14,14]:nhwc, kernel_size=3, stride=1, padding=1, dilation=6)",
       Family::channels_last},
      {"avg_pool2d(uint8[1,8,600,900]:nhwc, kernel_size=8, stride=1)", Family::row_passes},
  };
  for (const auto& row : table) EXPECT_EQ(first(row.spec, Isa::avx2).family(), row.family) << row.spec;
}

// Asked for one schedule, families that cannot be the first are passed over.
TEST(Schedule, TheFirstIsTheSameByItself) {
  for (const char* spec :
       {"max_pool2d(float32[1,512,38,38]:nhwc, kernel_size=3, stride=1)",
        "max_pool2d(float32[1,3,24,24]:nhwc, kernel_size=7, stride=1)",
        "max_pool2d(float32[1,8,14,14], kernel_size=3)", "avg_pool2d(uint8[1,8,7,7], kernel_size=7)",
        "max_pool2d(bfloat16[1,20,30,30], kernel_size=2, return_indices=True)",
        "max_pool2d(float32[1,256,100,100]:nhwc, kernel_size=2, stride=1)"})
    for (const Isa isa : all_isas)
      EXPECT_EQ(first(spec, isa), enumerate_schedules(nest_of(spec), isa)[0]) << spec;
}

// Default schedules, each with the reason.
constexpr struct {
  Isa isa;
  const char *spec, *schedule;
} defaults[] = {
    // Windows larger than channels_first shares: one vector of columns after the other, rows in groups. So
    // are rows of bytes that are shorter than a vector.
    {Isa::avx512, "max_pool2d(float32[1,1,1080,1920], kernel_size=31, stride=1, padding=15)",
     "row_passes(lanes=16, rows_together=16, scan=trailing, tail=mask)"},
    {Isa::avx512, "max_pool2d(uint8[1,1,2160,3840], kernel_size=31, stride=1, padding=15)",
     "row_passes(lanes=64, rows_together=16, scan=trailing, tail=mask)"},
    {Isa::avx512, "max_pool2d(float32[1,16,112,112], kernel_size=31, stride=1, padding=15)",
     "row_passes(lanes=16, rows_together=8, scan=trailing, tail=mask)"},
    {Isa::avx512, "max_pool2d(bfloat16[1,64,56,56], kernel_size=31, stride=1, padding=15)",
     "row_passes(lanes=32, rows_together=2, scan=trailing, tail=mask)"},
    {Isa::avx512, "max_pool2d(float32[1,8,224,224], kernel_size=13, stride=1, padding=6)",
     "row_passes(lanes=16, rows_together=8, scan=trailing, tail=mask)"},
    {Isa::avx512, "min_pool2d(uint8[1,256,28,28], kernel_size=31, stride=1, padding=15)",
     "row_passes(lanes=16, scan=trailing, tail=mask)"},
    {Isa::avx2, "max_pool2d(int8[1,512,24,24], kernel_size=13, stride=1, padding=6)",
     "row_passes(lanes=16, rows_together=4, scan=trailing, tail=split)"},
    {Isa::avx2, "max_pool2d(bfloat16[1,512,14,14], kernel_size=11, stride=1, padding=5)",
     "row_passes(lanes=8, rows_together=2, scan=trailing, tail=split)"},
    {Isa::avx512, "max_pool2d(float32[1,3,224,224]:nhwc, kernel_size=31, stride=1, padding=15)",
     "row_passes(lanes=16, rows_together=8, scan=trailing, tail=mask)"},
    // Several vectors of outputs roll side by side, and share their columns.
    {Isa::avx512, "max_pool2d(float32[1,3,19,19], kernel_size=9, stride=1, padding=4)",
     "channels_first(lanes=16, vectors_side_by_side=2, scan=rolling, tap_code=straight, tail=mask)"},
    {Isa::avx512, "max_pool2d(float32[1,3,35,35], kernel_size=7, stride=1, padding=3)",
     "channels_first(lanes=16, vectors_side_by_side=3, scan=rolling, tap_code=straight, tail=mask)"},
    {Isa::avx512, "max_pool2d(float32[1,3,56,56], kernel_size=5, stride=1, padding=2)",
     "channels_first(lanes=16, vectors_side_by_side=4, scan=rolling, tap_code=straight, tail=mask)"},
    {Isa::avx512, "max_pool2d(bfloat16[1,3,40,40], kernel_size=9, stride=1, padding=4)",
     "channels_first(lanes=32, vectors_side_by_side=2, scan=rolling, tap_code=straight, tail=mask)"},
    {Isa::avx512, "avg_pool2d(float32[1,3,35,35], kernel_size=7, stride=1, padding=3)",
     "channels_first(lanes=16, vectors_side_by_side=3, scan=rolling, tap_code=straight, tail=mask)"},
    {Isa::avx512, "max_pool2d(float32[1,3,112,112], kernel_size=21, stride=1, padding=10)",
     "channels_first(lanes=16, vectors_side_by_side=4, scan=rolling, tap_code=straight, tail=mask)"},
    {Isa::avx512, "avg_pool2d(float32[1,3,14,14], kernel_size=21, stride=1, padding=10)",
     "channels_first(lanes=8, vectors_side_by_side=2, scan=rolling, tap_code=straight, tail=mask)"},
    {Isa::avx2, "max_pool2d(float32[1,3,14,14], kernel_size=5, stride=1, padding=2)",
     "channels_first(lanes=8, vectors_side_by_side=2, scan=rolling, tap_code=straight, tail=mask)"},
    {Isa::avx2, "max_pool2d(float32[1,3,19,19], kernel_size=7, stride=1, padding=3)",
     "channels_first(lanes=8, vectors_side_by_side=3, scan=rolling, tap_code=straight, tail=mask)"},
    {Isa::avx2, "max_pool2d(float32[1,3,28,28], kernel_size=17, stride=1, padding=8)",
     "channels_first(lanes=8, vectors_side_by_side=3, scan=rolling, tap_code=straight, tail=mask)"},
    {Isa::avx2, "max_pool2d(float32[1,3,56,56], kernel_size=9, stride=1, padding=4)",
     "channels_first(lanes=8, vectors_side_by_side=3, scan=rolling, tap_code=straight, tail=mask)"},
    {Isa::avx512, "max_pool2d(float32[1,3,16,16], kernel_size=9, stride=1, padding=4)",
     "channels_first(lanes=16, scan=rolling, tap_code=straight, tail=mask)"},
    // Strided windows: a row of the input is one vector, except for bytes on AVX2.
    {Isa::avx512, "max_pool2d(uint8[1,3,14,14], kernel_size=3, stride=2)",
     "whole_planes(lanes=32, tail=mask)"},
    {Isa::avx512, "max_pool2d(uint8[1,3,17,17], kernel_size=3, stride=2)",
     "whole_planes(lanes=32, tail=mask)"},
    {Isa::avx512, "max_pool2d(uint8[1,3,27,27], kernel_size=3, stride=2)",
     "whole_planes(lanes=16, tail=mask)"},
    {Isa::avx512, "max_pool2d(uint8[1,3,56,56], kernel_size=2)", "whole_planes(lanes=32, tail=mask)"},
    {Isa::avx2, "max_pool2d(uint8[1,3,14,14], kernel_size=3, stride=2)",
     "whole_planes(lanes=8, tail=overlap)"},
    {Isa::avx512, "max_pool2d(bfloat16[1,3,14,14], kernel_size=3, stride=2)",
     "whole_planes(lanes=16, tail=mask)"},
    {Isa::avx512, "max_pool2d(bfloat16[1,3,17,17], kernel_size=3, stride=2)",
     "whole_planes(lanes=32, tail=mask)"},
    {Isa::avx512, "max_pool2d(float32[1,3,14,14], kernel_size=3, stride=2)",
     "whole_planes(lanes=16, tail=mask)"},
};

TEST(Schedule, DefaultsOfSharedWindowsAndSmallPlanes) {
  for (const auto& [isa, spec, schedule] : defaults) EXPECT_EQ(print(first(spec, isa)), schedule) << spec;
}

TEST(Schedule, AnOverlappingTailNeedsAsManyOutputsAsATile) {
  const auto nest = nest_of("max_pool2d(float32[1,3,19,19], kernel_size=5, stride=1, padding=2)");
  Schedule wide{.own = ChannelsFirstFields{{.vectors_side_by_side = 2, .scan = RowFields::Scan::rolling}},
                .lanes = 16,
                .tail = Tail::overlap};
  EXPECT_EQ(lower(nest, wide, Isa::avx512).error().id, "schedule.tail");
  wide.lanes = 8;
  EXPECT_TRUE(lower(nest, wide, Isa::avx512));
}

TEST(Schedule, AveragesThatRollDivideByAConstant) {
  const auto tables = [](const char* spec) {
    const auto nest = nest_of(spec);
    return lower(nest, enumerate_schedules(nest, Isa::avx512, 1)[0], Isa::avx512)->tables.size();
  };
  // One table for the rows, none for the divisors along them.
  EXPECT_EQ(
      tables(
          "avg_pool2d(uint8[1,64,56,56]:nhwc, kernel_size=3, stride=1, padding=1, count_include_pad=False)"),
      1);
  // Many outputs at the ends with divisors of their own are not worth code of their own.
  EXPECT_EQ(
      tables(
          "avg_pool2d(uint8[1,64,56,56]:nhwc, kernel_size=9, stride=1, padding=4, count_include_pad=False)"),
      2);
}

TEST(Schedule, SmallPlanesAreDoneWhole) {
  const char* small = "max_pool2d(float32[1,3,12,12], kernel_size=3, stride=1, padding=1)";
  for (const Isa isa : all_isas) EXPECT_EQ(first(small, isa).family(), Family::whole_planes);
  EXPECT_EQ(first("max_pool2d(float32[1,3,128,128], kernel_size=3)", Isa::avx512).family(),
            Family::channels_first);
  // Windows that share many columns, and bytes of larger planes, have families that do less.
  EXPECT_EQ(first("max_pool2d(uint8[1,3,112,112], kernel_size=3, stride=2, padding=1)", Isa::avx512).family(),
            Family::channels_first);
  EXPECT_EQ(first("max_pool2d(float32[1,3,19,19], kernel_size=9, stride=1, padding=4)", Isa::avx512).family(),
            Family::channels_first);
  // What it cannot do: indices, windows without a tap, gaps.
  for (const char* spec :
       {"max_pool2d(float32[1,3,8,8], kernel_size=2, return_indices=True)",
        "max_pool2d(float32[1,3,8,8], kernel_size=2, strides=[240,80,10,1], output_strides=[48,16,4,1])",
        "max_pool2d(float32[1,3,1,8], kernel_size=[2,1], dilation=[2,1], padding=[1,0])"}) {
    const auto nest = frontend::parse_spec(spec);
    ASSERT_TRUE(nest) << to_string(nest.error());
    const Schedule schedule{.own = WholePlanesFields{}, .lanes = 4, .tail = Tail::overlap};
    EXPECT_EQ(lower(frontend::make_nest(*nest), schedule, Isa::avx512).error().id, "schedule.strides")
        << spec;
  }
}

// Masked stores are left where an overlap costs more (ir/schedules/choose/row_cut.cpp).
TEST(Schedule, RowsAreCutAtTheLeastCost) {
  const struct {
    const char* spec;
    Isa isa;
    int lanes;
    Tail tail;
  } table[] = {
      {"max_pool2d(float32[1,3,28,28], kernel_size=3, stride=1, padding=1)", Isa::avx512, 16, Tail::overlap},
      {"max_pool2d(float32[1,3,14,14], kernel_size=3, stride=1, padding=1)", Isa::avx512, 16, Tail::mask},
      {"max_pool2d(float32[1,3,12,12], kernel_size=3, stride=1, padding=1)", Isa::avx512, 16, Tail::mask},
      {"max_pool2d(float32[1,3,17,17], kernel_size=3, stride=1, padding=1)", Isa::avx512, 16, Tail::mask},
      {"avg_pool2d(float32[1,3,17,17], kernel_size=3, stride=1, padding=1)", Isa::avx512, 16, Tail::mask},
      {"max_pool2d(float32[1,3,35,35], kernel_size=3, stride=1, padding=1)", Isa::avx512, 16, Tail::mask},
      {"max_pool2d(float32[1,3,19,19], kernel_size=5, stride=1, padding=2)", Isa::avx512, 16, Tail::mask},
      {"max_pool2d(float32[1,3,55,55], kernel_size=3, stride=2)", Isa::avx512, 16, Tail::mask},
      {"max_pool2d(uint8[1,3,35,35], kernel_size=3, stride=1, padding=1)", Isa::avx512, 64, Tail::mask},
      {"max_pool2d(bfloat16[1,3,56,56], kernel_size=3, stride=1, padding=1)", Isa::avx512, 32, Tail::overlap},
      {"max_pool2d(float32[1,3,14,14], kernel_size=3, stride=1, padding=1)", Isa::avx2, 8, Tail::overlap},
      {"max_pool2d(float32[1,3,17,17], kernel_size=3, stride=1, padding=1)", Isa::avx2, 8, Tail::mask},
      {"max_pool2d(float32[1,3,55,55], kernel_size=3, stride=2)", Isa::avx2, 8, Tail::overlap},
      {"max_pool2d(uint8[1,3,56,56], kernel_size=3, stride=2, padding=1)", Isa::avx2, 16, Tail::overlap},
  };
  for (const auto& row : table) {
    const std::vector<Schedule> all = enumerate_schedules(nest_of(row.spec), row.isa);
    const auto found = std::ranges::find(all, Family::channels_first, &Schedule::family);
    ASSERT_NE(found, all.end()) << row.spec;
    EXPECT_EQ(found->lanes, row.lanes) << row.spec << ' ' << print(*found);
    EXPECT_EQ(found->tail, row.tail) << row.spec << ' ' << print(*found);
  }
}

TEST(Schedule, CodeDoesNotGrowWithTheTensor) {
  PoolNest small = stem(64, false);
  PoolNest large = stem(64, false);
  for (NestDim& dim : large.dims) dim.input *= 20, dim.output *= 20;
  const Schedule schedule = enumerate_schedules(large, Isa::avx512)[0];
  const auto size = [&](const PoolNest& nest) { return lower(nest, schedule, Isa::avx512)->insts.size(); };
  EXPECT_LE(size(large), size(small) + size(small) / 2);
}

TEST(Schedule, RefusesWithASentence) {
  const struct {
    const char* schedule;
    bool channels_last;
    DType dtype;
    const char* id;
  } table[] = {
      {"channels_last(lanes=3)", true, DType::f32, "schedule.lanes"},
      {"channels_last(lanes=0)", true, DType::f32, "schedule.lanes"},
      {"channels_last(lanes=16)", true, DType::f32, "schedule.lanes"},
      {"channels_last(lanes=8, vectors_side_by_side=0)", true, DType::f32, "schedule.together"},
      {"channels_last(lanes=8, vectors_side_by_side=17)", true, DType::f32, "schedule.together"},
      {"channels_last(lanes=8)", false, DType::f32, "schedule.strides"},
      {"channels_first(lanes=8)", true, DType::f32, "schedule.strides"},
      {"channels_first(lanes=32, tail=mask)", false, DType::u8, "schedule.tail"},
      {"channels_first(lanes=32, tail=overlap)", false, DType::u8, "schedule.tail"},
      {"channels_last(lanes=32, tail=overlap)", true, DType::u8, "schedule.tail"},
      {"channels_last(lanes=8, stores=streamed)", true, DType::f32, "schedule.stores"},
  };
  for (const auto& row : table) {
    const Result<Schedule> schedule = parse_schedule(row.schedule);
    ASSERT_TRUE(schedule) << row.schedule;
    const Result<Program> program = lower(stem(17, row.channels_last, row.dtype), *schedule, Isa::avx2);
    ASSERT_FALSE(program) << row.schedule;
    EXPECT_EQ(program.error().id, row.id) << row.schedule << ": " << program.error().message;
  }
}

TEST(Schedule, RowsFirstNeedsAnyOrder) {
  PoolNest nest = stem(4, false);
  nest.zeros = ZeroRule::first;
  const Schedule schedule = *parse_schedule("channels_first(lanes=8, scan=rows_first, tail=mask)");
  EXPECT_EQ(lower(nest, schedule, Isa::avx2).error().id, "schedule.scan");
}

TEST(Schedule, WrongTextNamesThePart) {
  for (const char* text :
       {"", "channels_last", "channels_middle(lanes=1)", "channels_last(lanes=x)", "channels_last(tail=none)",
        "channels_last(colour=red)", "channels_last(stores=streaming)", "channels_last(lanes)"}) {
    const Result<Schedule> schedule = parse_schedule(text);
    ASSERT_FALSE(schedule) << text;
    EXPECT_EQ(schedule.error().id, "schedule.text") << text;
  }
}

}  // namespace
}  // namespace pooljit::ir
