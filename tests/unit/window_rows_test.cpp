// Which windows window_rows takes, and how many of them together.
#include <gtest/gtest.h>

#include <string>

#include "frontend/pool_spec.h"
#include "ir/choose/enumerate.h"
#include "ir/schedule.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "pooljit.hpp"

namespace pooljit::ir {
namespace {

TEST(WindowRows, WindowsOfARowAreDoneTogetherWhereRegistersHoldThem) {
  const auto nest = [](const char* spec) { return frontend::make_nest(*frontend::parse_spec(spec)); };
  const PoolNest seven = nest("adaptive_max_pool2d(float32[1,3,112,112], output_size=7)");
  const Schedule together = enumerate_schedules(seven, Isa::avx512, 1).front();
  EXPECT_EQ(together.family(), Family::window_rows);
  EXPECT_EQ(std::get<WindowRowsFields>(together.own).windows_together, 7);
  for (const char* refused :
       {"window_rows(lanes=16, windows_together=3)", "window_rows(lanes=2, windows_together=7)"})
    EXPECT_EQ(lower(seven, *parse_schedule(refused), Isa::avx512).error().id, "schedule.together") << refused;
  const PoolNest line = nest("max_pool1d(float32[1,3,112], kernel_size=56)");  // its outputs are tasks
  EXPECT_EQ(lower(line, *parse_schedule("window_rows(lanes=16, windows_together=2)"), Isa::avx512).error().id,
            "schedule.together");
}

TEST(WindowRows, NeighbouringChannelsOfOneWindowAreDoneTogether) {
  const auto best = [](const char* spec, Isa isa) {
    return print(enumerate_schedules(frontend::make_nest(*frontend::parse_spec(spec)), isa, 1).front());
  };
  const struct {
    const char* spec;
    Isa isa;
    const char* schedule;
  } table[] = {
      {"avg_pool2d(float32[1,64,7,7], kernel_size=7)", Isa::avx512,
       "lanes=16, windows_together=8, tail=mask"},
      {"avg_pool2d(bfloat16[1,64,7,7], kernel_size=7)", Isa::avx2,
       "lanes=16, windows_together=8, tail=overlap"},
      {"max_pool2d(float32[1,64,7,7], kernel_size=7)", Isa::avx512,
       "lanes=16, windows_together=8, tail=overlap"},
      {"max_pool2d(uint8[1,6,7,7], kernel_size=7)", Isa::avx512, "lanes=64, windows_together=4, tail=mask"},
      {"max_pool2d(int64[1,64,7,8], kernel_size=[7,8])", Isa::avx2, "lanes=4, windows_together=4, tail=mask"},
      {"max_pool2d(float32[1,1,7,7], kernel_size=7)", Isa::avx512, "lanes=16, tail=overlap"},
      // Long windows gain nothing, and outputs that do not lie together cannot be stored together.
      {"avg_pool2d(float32[1,64,60,60], kernel_size=60)", Isa::avx512, "lanes=16, tail=mask"},
      {"avg_pool2d(float32[1,64,7,7], kernel_size=7, output_strides=[128,2,1,1])", Isa::avx512,
       "lanes=16, tail=mask"},
  };
  for (const auto& row : table)
    EXPECT_EQ(best(row.spec, row.isa), "window_rows(" + std::string(row.schedule) + ")") << row.spec;
}

// Bytes with indices, in lanes of bytes, where a row is long enough to be worth widening them.
TEST(WindowRows, RowsOfBytesWithIndicesAreTakenInLanesOfBytes) {
  const struct {
    int taps;
    const char *avx2, *avx512;
  } table[] = {
      {255, "lanes=32, tail=overlap", "lanes=64, tail=overlap"},  // indices of eight bits
      {64, "lanes=32, tail=split", "lanes=64, tail=mask"},
      {300, "lanes=32, tail=overlap", "lanes=64, tail=overlap"},
      {10000, "lanes=16, tail=split", "lanes=64, tail=overlap"},  // more than 256 vectors
      {20000, "lanes=16, tail=split", "lanes=32, tail=mask"},
  };
  for (const auto& row : table)
    for (const Isa isa : {Isa::avx2, Isa::avx512}) {
      const std::string taps = std::to_string(row.taps);
      const std::string spec =
          "max_pool1d(uint8[1,3," + taps + "], kernel_size=" + taps + ", return_indices=True)";
      const PoolNest nest = frontend::make_nest(*frontend::parse_spec(spec));
      EXPECT_EQ(print(enumerate_schedules(nest, isa, 1).front()),
                "window_rows(" + std::string(isa == Isa::avx2 ? row.avx2 : row.avx512) + ")")
          << taps;
    }
}

// Code that the registers do not hold would be left for one lane.
TEST(WindowRows, RowsOfHalvesWithIndicesFitTheRegisters) {
  for (const char* window : {"[16,28], stride=[8,10]", "[16,90], stride=[8,10]", "[4,64], padding=[2,0]"}) {
    const std::string spec =
        "max_pool2d(float16[2,16,64,300], kernel_size=" + std::string(window) + ", return_indices=True)";
    EXPECT_TRUE(compile(spec, options_read("isa=avx2")).schedule().starts_with("window_rows(lanes=8"))
        << window;
  }
}

// Vectors over outputs would gather each tap from as many vectors as the windows' step.
TEST(WindowRows, WindowsFarApartAreDoneOneByOne) {
  const auto best = [](const char* spec, Isa isa) {
    return enumerate_schedules(frontend::make_nest(*frontend::parse_spec(spec)), isa, 1).front();
  };
  const struct {
    const char* spec;
    Isa isa;
    Family family;
  } table[] = {
      {"max_pool2d(uint8[1,64,224,224], kernel_size=16)", Isa::avx512, Family::window_rows},
      {"max_pool2d(float32[1,64,224,224], kernel_size=16)", Isa::avx512, Family::window_rows},
      {"max_pool2d(float32[1,64,224,224], kernel_size=8)", Isa::avx512, Family::channels_first},
      {"max_pool2d(float32[1,64,224,224], kernel_size=8)", Isa::avx2, Family::window_rows},
      {"adaptive_max_pool2d(uint8[1,64,56,56], output_size=7)", Isa::avx2, Family::window_rows},
      // Also where they end with the image, or differ by a tap.
      {"max_pool2d(float32[1,64,224,224], kernel_size=16, padding=8)", Isa::avx512, Family::window_rows},
      {"adaptive_avg_pool2d(float32[1,24,150,150], output_size=4)", Isa::avx512, Family::window_rows},
      {"adaptive_max_pool2d(int8[1,32,128,128], output_size=7)", Isa::avx2, Family::window_rows},
      {"avg_pool2d(uint8[1,224,5,5], kernel_size=13, padding=6)", Isa::avx2, Family::window_rows},
      // Also with the places of the taps that won.
      {"max_pool2d(float32[1,64,224,224], kernel_size=16, return_indices=True)", Isa::avx512,
       Family::window_rows},
      {"adaptive_max_pool1d(float32[1,384,38], output_size=2, return_indices=True)", Isa::avx512,
       Family::window_rows},
      // Neighbours share their columns.
      {"max_pool2d(float32[1,64,224,224], kernel_size=16, stride=1)", Isa::avx512, Family::row_passes},
      {"avg_pool2d(int8[1,672,13,13], kernel_size=13, stride=2, padding=6)", Isa::avx2, Family::whole_planes},
  };
  for (const auto& row : table)
    EXPECT_EQ(best(row.spec, row.isa).family(), row.family) << row.spec << ' ' << info(row.isa).text;
}

}  // namespace
}  // namespace pooljit::ir
