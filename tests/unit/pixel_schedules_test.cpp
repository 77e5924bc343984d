// What the default does with pixels of many channels where images outgrow the first cache, with tall and wide
// windows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <initializer_list>

#include "frontend/pool_spec.h"
#include "ir/choose/enumerate.h"
#include "ir/machine.h"
#include "ir/schedule.h"
#include "tests/schedule_words.h"

namespace pooljit::ir {
namespace {

Schedule default_of(const char* spec, Isa isa = Isa::avx512) {
  return enumerate_schedules(frontend::make_nest(*frontend::parse_spec(spec)), isa, 1)[0];
}

struct Chosen {
  const char* spec;
  Isa isa;
  Family family;
  const char* scan;
};

void expect_chosen(std::initializer_list<Chosen> table) {
  for (const auto& row : table) {
    const Schedule schedule = default_of(row.spec, row.isa);
    EXPECT_EQ(schedule.family(), row.family) << row.spec;
    EXPECT_EQ(scan_of(schedule), row.scan) << row.spec;
  }
}

// Images that outgrow a core's own caches are read pixel by pixel, whole ones: windows that share little tap
// by tap, others in strips, large ones by row_passes.
TEST(PixelSchedules, LargeImagesAreReadByWholePixels) {
  expect_chosen({
      {"max_pool2d(float32[1,64,112,112]:nhwc, kernel_size=3, stride=2, padding=1)", Isa::avx2,
       Family::channels_last, "windows"},
      {"max_pool2d(float32[1,64,28,28]:nhwc, kernel_size=3, stride=1, padding=1)", Isa::avx2,
       Family::channels_last, "rolling"},
      {"max_pool2d(float32[1,64,14,14]:nhwc, kernel_size=3, stride=2, padding=1)", Isa::avx512,
       Family::channels_last, "rolling"},
      {"max_pool2d(float32[1,64,28,28]:nhwc, kernel_size=3, stride=2, padding=1)", Isa::avx2,
       Family::channels_last, "windows"},
      {"avg_pool2d(float32[1,192,35,35]:nhwc, kernel_size=3, stride=1, padding=1)", Isa::avx2,
       Family::interleaved, "rows_first"},
      {"avg_pool2d(float32[1,192,28,28]:nhwc, kernel_size=3, stride=1, padding=1)", Isa::avx2,
       Family::channels_last, "rolling"},
      {"avg_pool2d(bfloat16[1,192,80,80]:nhwc, kernel_size=3, stride=1, padding=1)", Isa::avx512,
       Family::channels_last, "strips"},
      {"max_pool2d(float32[1,192,62,62]:nhwc, kernel_size=3, stride=1, padding=1)", Isa::avx2,
       Family::channels_last, "strips"},
      {"max_pool2d(float32[1,64,108,108]:nhwc, kernel_size=7, stride=1, padding=3)", Isa::avx512,
       Family::row_passes, "passes"},
      {"max_pool2d(float32[1,64,28,28]:nhwc, kernel_size=7, stride=1, padding=3)", Isa::avx512,
       Family::separable, "rolling"},
      {"avg_pool2d(float32[1,64,108,108]:nhwc, kernel_size=5, stride=1, padding=2)", Isa::avx2,
       Family::channels_last, "strips"},
  });
}

// Large windows that do not overlap. With AVX-512 where no near cache holds the image, or the first cache
// does not hold the one window of many taps that there is.
TEST(PixelSchedules, LargeWindowsThatDoNotOverlapAreReadByWholePixels) {
  expect_chosen({
      {"adaptive_max_pool2d(float32[1,512,56,56]:nhwc, output_size=7)", Isa::avx2, Family::whole_pixels,
       "column"},
      {"adaptive_max_pool2d(float32[1,512,56,56]:nhwc, output_size=7)", Isa::avx512, Family::whole_pixels,
       "column"},
      {"adaptive_max_pool2d(bfloat16[1,1024,56,56]:nhwc, output_size=7)", Isa::avx512, Family::whole_pixels,
       "row"},
      {"adaptive_avg_pool2d(float32[1,1024,12,12]:nhwc, output_size=1)", Isa::avx512, Family::whole_pixels,
       "column"},
      {"adaptive_avg_pool2d(uint8[1,256,20,20]:nhwc, output_size=1)", Isa::avx512, Family::whole_pixels,
       "column"},
      {"max_pool2d(float32[1,2048,7,7]:nhwc, kernel_size=7)", Isa::avx2, Family::whole_pixels, "column"},
      {"max_pool2d(float32[1,2048,7,7]:nhwc, kernel_size=7)", Isa::avx512, Family::channels_last, "windows"},
      {"max_pool2d(float32[1,512,28,28]:nhwc, kernel_size=4)", Isa::avx2, Family::whole_pixels, "column"},
      {"max_pool2d(float32[1,512,64,48]:nhwc, kernel_size=[1,24])", Isa::avx2, Family::whole_pixels, "row"},
      {"max_pool1d(float32[1,512,3000]:nwc, kernel_size=40)", Isa::avx2, Family::whole_pixels, "row"},
      {"max_pool1d(float32[1,100,498]:nwc, kernel_size=498)", Isa::avx2, Family::whole_pixels, "row"},
      {"avg_pool1d(float32[1,100,498]:nwc, kernel_size=498)", Isa::avx2, Family::channels_last, "windows"},
      {"avg_pool2d(bfloat16[1,2048,7,7]:nhwc, kernel_size=7)", Isa::avx2, Family::whole_pixels, "column"},
      {"avg_pool2d(float32[1,1024,7,7]:nhwc, kernel_size=7, stride=1)", Isa::avx2, Family::whole_pixels,
       "column"},
      // Little memory, small windows, short pixels, windows of different sizes.
      {"adaptive_avg_pool2d(float32[1,128,16,16]:nhwc, output_size=1)", Isa::avx512, Family::channels_last,
       "windows"},
      {"max_pool2d(float32[1,320,8,8]:nhwc, kernel_size=8)", Isa::avx2, Family::channels_last, "windows"},
      {"max_pool2d(float32[1,512,27,27]:nhwc, kernel_size=3)", Isa::avx2, Family::channels_last, "windows"},
      {"max_pool2d(uint8[1,128,56,56]:nhwc, kernel_size=8)", Isa::avx2, Family::channels_last, "windows"},
      {"adaptive_max_pool2d(float32[1,256,28,28]:nhwc, output_size=5)", Isa::avx2, Family::channels_last,
       "windows"},
  });
}

// Windows of four and more columns of pixels of several vectors: by separable rather than along the row.
TEST(PixelSchedules, WindowsOfLongPixelsShareThroughScratchMemory) {
  expect_chosen({
      {"avg_pool2d(float32[1,384,16,16]:nhwc, kernel_size=5, stride=1)", Isa::avx512, Family::separable,
       "rolling"},
      {"max_pool2d(float32[1,960,28,28]:nhwc, kernel_size=7, stride=1, padding=3)", Isa::avx512,
       Family::separable, "rolling"},
      {"max_pool2d(float32[1,384,32,32]:nhwc, kernel_size=4, stride=1)", Isa::avx512, Family::separable,
       "rolling"},
      {"max_pool2d(uint8[1,512,20,20]:nhwc, kernel_size=7, stride=1)", Isa::avx512, Family::separable,
       "rolling"},
      {"max_pool2d(float32[1,1536,16,16]:nhwc, kernel_size=15, stride=1)", Isa::avx512, Family::separable,
       "rolling"},
      {"avg_pool2d(float32[1,48,24,24]:nhwc, kernel_size=5, stride=1)", Isa::avx512, Family::channels_last,
       "rolling"},
      {"max_pool2d(bfloat16[1,384,19,36]:nhwc, kernel_size=5, stride=1)", Isa::avx512, Family::row_passes,
       "passes"},
      {"max_pool2d(uint8[1,256,24,17]:nhwc, kernel_size=6, stride=1)", Isa::avx512, Family::channels_last,
       "rolling"},
  });
}

// Parts of long pixels for all taps, where the processor is faster so.
TEST(PixelSchedules, PartsOfPixelsAreTheMachines) {
  const Machine zen5 = *find_machine("zen5");
  const struct {
    const char* spec;
    int on_zen5, otherwise;
  } table[] = {
      {"adaptive_max_pool2d(float32[1,128,16,16]:nhwc, output_size=1)", 8, 8},
      {"adaptive_avg_pool2d(float32[1,2048,7,7]:nhwc, output_size=1)", 16, 8},
      {"max_pool2d(float32[1,640,12,12]:nhwc, kernel_size=5)", 8, 8},
      {"max_pool2d(float32[1,640,12,12]:nhwc, kernel_size=4)", 16, 4},
  };
  for (const auto& row : table) {
    const auto nest = frontend::make_nest(*frontend::parse_spec(row.spec));
    EXPECT_EQ(together(enumerate_schedules(nest, Isa::avx512, 1, zen5)[0]), row.on_zen5) << row.spec;
    EXPECT_EQ(together(enumerate_schedules(nest, Isa::avx512, 1)[0]), row.otherwise) << row.spec;
  }
}

// Windows of many rows and few columns roll down the image; those of few rows do not.
TEST(PixelSchedules, TallWindowsRollDown) {
  expect_chosen({
      {"max_pool2d(float32[1,16,64,96]:nhwc, kernel_size=[21,2], stride=1)", Isa::avx512, Family::interleaved,
       "rolling"},
      {"max_pool2d(float32[1,384,64,32]:nhwc, kernel_size=[13,2], stride=1)", Isa::avx512,
       Family::interleaved, "rolling"},
      {"max_pool2d(float32[1,16,64,96]:nhwc, kernel_size=[9,2], stride=1)", Isa::avx512, Family::interleaved,
       "rolling"},
      {"avg_pool2d(float32[1,16,56,32]:nhwc, kernel_size=[13,3], stride=1)", Isa::avx512, Family::interleaved,
       "rolling"},
      {"max_pool2d(uint8[1,56,48,150]:nhwc, kernel_size=[13,2], stride=1)", Isa::avx512, Family::interleaved,
       "rolling"},
      {"max_pool2d(float32[1,16,64,96]:nhwc, kernel_size=[4,2], stride=1)", Isa::avx512,
       Family::channels_last, "rolling"},
  });
  EXPECT_EQ(together(default_of("max_pool2d(float32[1,16,64,96]:nhwc, kernel_size=[21,2], stride=1)")), 1);
}

// Averages of few columns of images beyond the near caches, with few registers: all channels of a row at
// once.
TEST(PixelSchedules, PaddedAveragesOfAvx2GoByRowsOfPixels) {
  expect_chosen({
      {"avg_pool2d(float32[1,384,56,56]:nhwc, kernel_size=3, stride=1, padding=1)", Isa::avx2,
       Family::interleaved, "rows_first"},
      {"avg_pool2d(float32[1,64,112,112]:nhwc, kernel_size=3, stride=1, padding=1)", Isa::avx2,
       Family::channels_last, "windows"},
      {"avg_pool2d(float32[1,384,14,14]:nhwc, kernel_size=3, stride=1, padding=1)", Isa::avx2,
       Family::channels_last, "rolling"},
  });
}

// Channels first: one output behind whole vectors is done by a vector that overlaps, where its window is wide
// and does not roll.
TEST(PixelSchedules, OneOutputOfAWideWindowIsNotDoneAlone) {
  const struct {
    const char* spec;
    Tail tail;
  } table[] = {
      {"max_pool2d(float32[1,64,48,48], kernel_size=15, stride=2)", Tail::overlap},
      {"avg_pool2d(uint8[1,32,143,143], kernel_size=15, stride=2)", Tail::overlap},
      {"max_pool2d(uint8[1,32,143,143], kernel_size=15, stride=2)", Tail::mask},
      {"max_pool2d(float32[1,64,35,35], kernel_size=3, stride=2)", Tail::mask},
      {"avg_pool2d(float32[1,8,41,33], kernel_size=9, stride=2, padding=4)", Tail::mask},
  };
  for (const auto& row : table) EXPECT_EQ(default_of(row.spec).tail, row.tail) << row.spec;
}

// Border outputs of long windows one by one would take 20 to 70 times as long.
TEST(PixelSchedules, GroupsOfRowsDoNotLeaveBordersAlone) {
  constexpr const char *clipped = "avg_pool2d(bfloat16[2,3,200,80], [64,32], [2,8], [0,16])",
                       *square = "avg_pool2d({}[1,3,32,32], kernel_size=21, stride=2, padding=10)";
  EXPECT_EQ(default_of(clipped).tail, Tail::mask);
  EXPECT_EQ(default_of(fmt::format(square, "float32").c_str(), Isa::avx2).tail, Tail::mask);
  EXPECT_EQ(default_of(fmt::format(square, "bfloat16").c_str(), Isa::avx2).tail, Tail::overlap);
}

// A power takes so many instructions that straight-line code for several only takes room.
TEST(PixelSchedules, PowersLoopOverTaps) {
  const std::pair<const char*, const char*> table[] = {
      {"2.5", "loops"}, {"17", "loops"}, {"3", "straight"}, {"inf", "straight"}};
  for (const auto& [power, code] : table)
    for (const char* layout : {"nchw", "nhwc"}) {
      const std::string spec = fmt::format(
          "lp_pool2d(float32[1,64,56,56]:{}, kernel_size=7, stride=4, norm_type={})", layout, power);
      EXPECT_EQ(word_of(default_of(spec.c_str()), "tap_code"), code) << spec;
    }
}

}  // namespace
}  // namespace pooljit::ir
