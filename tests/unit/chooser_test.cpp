// Which schedule is the default, and that it is none of single lanes where a tensor is packed. Each row was
// measured against the schedule in its note (docs/notes/performance.md, "Rules or costs"). Nothing depends on
// this machine.
#include <gtest/gtest.h>

#include "frontend/pool_spec.h"
#include "ir/choose/enumerate.h"
#include "ir/schedule.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "tests/all_isas.h"

namespace pooljit::ir {
namespace {

Schedule first(const char* spec, Isa isa) {
  return enumerate_schedules(frontend::make_nest(*frontend::parse_spec(spec)), isa, 1)[0];
}

constexpr struct {
  const char *spec, *schedule, *instead_of;
} measured[] = {
    {"avg_pool1d(float32[1,672,128], kernel_size=4, stride=1, padding=1)",
     "channels_first(lanes=8, scan=tap_by_tap, tap_code=straight, tail=overlap)", "rows_first"},
    {"max_pool2d(bfloat16[1,64,112,112], kernel_size=3, stride=2, padding=1)",
     "channels_first(lanes=16, rows_together=2, scan=rows_first, tap_code=straight, tail=overlap)",
     "one row"},
    {"max_pool2d(bfloat16[1,288,35,35]:nhwc, kernel_size=3, stride=2)",
     "channels_last(lanes=16, vectors_side_by_side=2, scan=rolling, tap_code=straight, tail=split)",
     "windows"},
    {"max_pool3d_backward(float16[1,32,24,24,24]:nhwc, kernel_size=3, stride=2, padding=1)",
     "channels_last(lanes=8, vectors_side_by_side=2, scan=windows, tap_code=straight, tail=split)",
     "one vector at a time"},
    {"max_pool2d(float32[1,832,14,14]:nhwc, kernel_size=3, stride=2, ceil_mode=True)",
     "channels_last(lanes=8, vectors_side_by_side=2, scan=windows, tap_code=straight, tail=mask)", "rolling"},
    {"max_pool2d(bfloat16[1,144,109,16]:nhwc, kernel_size=[11,5], stride=2, padding=[0,2])",
     "channels_last(lanes=16, scan=rolling, tap_code=straight, tail=split)", "windows"},
    {"avg_pool2d(int64[1,64,28,28]:nhwc, kernel_size=14)",
     "channels_last(lanes=4, vectors_side_by_side=2, scan=windows, tap_code=loops, tail=mask)",
     "one vector in straight-line code"},
    {"prod_pool2d(int64[1,64,28,28]:nhwc, kernel_size=9, stride=3)",
     "channels_last(lanes=4, vectors_side_by_side=4, scan=windows, tap_code=loops, tail=mask)",
     "two vectors"},
    {"prod_pool3d(int64[4,15,11,43,4], kernel_size=[4,43,4], stride=[1,1,4], padding=[2,2,2,0,0,0], "
     "ceil_mode=plain)",
     "channels_last(lanes=1, vectors_side_by_side=4, scan=windows, tap_code=loops, tail=mask)",
     "channels_first, which takes both windows of a row alone"},
    {"sum_pool2d(int16[64,2,14], kernel_size=[2,17], padding=[3,18], dilation=2, ceil_mode=True)",
     "channels_last(lanes=1, vectors_side_by_side=4, scan=windows, tap_code=straight, tail=split)",
     "the same"},
    {"avg_pool2d(uint8[1,512,38,38], kernel_size=2)",
     "channels_first(lanes=16, scan=rows_first, tap_code=straight, tail=overlap)", "lanes=4"},
    {"max_pool2d(uint8[8,64,32,32], kernel_size=2)", "whole_planes(lanes=32, tail=overlap)",
     "channels_first"},
    {"max_pool2d(float32[1,480,14,14], kernel_size=3, stride=1, padding=1)",
     "channels_first(lanes=8, scan=rolling, tap_code=straight, tail=overlap)", "whole_planes"},
    {"max_pool2d(float32[1,256,65,65], kernel_size=3, stride=1, padding=1)",
     "row_passes(lanes=8, rows_together=2, scan=passes, tail=mask)", "channels_first"},
    {"max_pool2d(float32[1,512,96,96]:nhwc, kernel_size=3, stride=1, padding=1)",
     "row_passes(lanes=8, rows_together=2, scan=passes, tail=mask)", "channels_last in strips"},
    {"avg_pool2d(float32[1,240,52,52]:nhwc, kernel_size=3, stride=1)",
     "interleaved(lanes=8, rows_together=3, scan=rows_first, tap_code=straight, tail=mask)", "channels_last"},
    {"adaptive_avg_pool1d(float32[1,40,512]:nhwc, output_size=7)",
     "channels_last(lanes=8, vectors_side_by_side=8, scan=windows, tap_code=straight, tail=mask)",
     "vectors_side_by_side=4"},
    {"avg_pool2d(uint8[1,3,1080,1920]:nhwc, kernel_size=31, stride=1, padding=15)",
     "row_passes(lanes=8, scan=rolling_sums, tail=overlap)", "rows_first"},
    {"avg_pool2d(int8[1,1,1080,1920], kernel_size=3, stride=1, padding=1)",
     "row_passes(lanes=16, rows_together=2, scan=passes, tail=overlap)", "channels_first"},
    {"avg_pool2d(uint8[1,256,19,19], kernel_size=3, stride=1, padding=1)",
     "channels_first(lanes=16, scan=rolling, tap_code=straight, tail=overlap)", "whole_planes"},
    {"avg_pool2d(uint8[1,192,35,35]:nhwc, kernel_size=3, stride=1, padding=1)",
     "interleaved(lanes=16, scan=rolling, tap_code=straight, tail=overlap)", "channels_last"},
    // Windows that move by several pixels.
    {"max_pool2d(float32[1,3,24,24]:nhwc, kernel_size=3, stride=2)",
     "interleaved(lanes=8, scan=rows_first, tap_code=straight, tail=mask)", "channels_last"},
    {"max_pool2d(bfloat16[1,12,24,24]:nhwc, kernel_size=3, stride=2)",
     "channels_last(lanes=16, scan=rolling, tap_code=straight, tail=split)", "interleaved"},
    {"avg_pool2d(uint8[1,24,300,300]:nhwc, kernel_size=7, stride=1)",
     "row_passes(lanes=16, rows_together=4, scan=passes, tail=overlap)", "interleaved"},
    {"sum_pool2d(uint8[1,8,224,224], kernel_size=9, stride=1, output_dtype=int32)",
     "row_passes(lanes=8, scan=rolling_sums, tail=overlap)", "rows_first"},
    {"avg_pool2d(uint8[1,64,56,56], kernel_size=5, stride=1, padding=2)",
     "row_passes(lanes=16, rows_together=4, scan=passes, tail=overlap)", "rolling sums"},
    // Results that are transposed: narrow rows of volumes roll down, though they are not staged then.
    {"max_pool3d(float32[1,16,8,14,7], kernel_size=3, stride=1, padding=1, output_layout=nhwc)",
     "channels_first(lanes=4, scan=rolling, tap_code=straight, tail=overlap)", "pairs of rows"},
    {"max_pool3d(uint8[1,16,8,14,28], kernel_size=3, stride=1, padding=1, output_layout=nhwc)",
     "channels_first(lanes=16, rows_together=2, scan=rows_first, tap_code=straight, tail=overlap)",
     "rolling"},
    // Without masks: vectors that overlap, not pieces of a vector.
    {"max_pool2d(uint8[1,23,60,60]:nhwc, kernel_size=3, stride=2)",
     "channels_last(lanes=16, vectors_side_by_side=2, scan=rolling, tap_code=straight, tail=overlap)",
     "lanes=32"},
    {"max_pool2d(uint8[1,5242,5,5], kernel_size=5)",
     "window_rows(lanes=16, windows_together=8, tail=overlap)", "lanes=32"},
    // Windows in the second cache, of which eight are too many bytes.
    {"avg_pool2d(float32[1,2048,8,8], kernel_size=8)", "window_rows(lanes=8, windows_together=4, tail=mask)",
     "windows_together=8"},
    {"adaptive_avg_pool2d(uint8[1,160,150,150]:nhwc, output_size=1)",
     "whole_pixels(lanes=8, vectors_side_by_side=2, pixels_along=column, tail=split)", "channels_last"},
};

TEST(Chooser, TakesWhatWasMeasured) {
  for (const auto& row : measured)
    EXPECT_EQ(print(first(row.spec, Isa::avx2)), row.schedule) << row.spec << "\n  not " << row.instead_of;
}

// No family offers vectors: of the shortlist what is predicted to take the least time.
TEST(Chooser, TakesNoNeedlessScalars) {
  const struct {
    const char *spec, *schedule;
  } table[] = {
      {"adaptive_avg_pool2d(float32[1,768,52,52], output_size=5)", "window_rows(lanes=8, tail=mask)"},
      {"max_pool2d(float32[1,8,64,64], kernel_size=9, padding=4)", "whole_planes(lanes=8, tail=mask)"},
      {"max_pool2d(bfloat16[1,1280,27,27], kernel_size=13, padding=6, return_indices=True)",
       "window_rows(lanes=4, tail=overlap)"},
  };
  for (const auto& row : table) EXPECT_EQ(print(first(row.spec, Isa::avx2)), row.schedule) << row.spec;
}

// Rows of more taps than a sum takes at once are several rows.
TEST(Chooser, GlobalAveragesAreVectors) {
  for (const char* spec : {"adaptive_avg_pool2d(float32[1,32,112,112], output_size=1)",
                           "avg_pool2d(float32[2,160,56,150], kernel_size=[56,150])",
                           "avg_pool2d(bfloat16[1,2,101,103], kernel_size=[101,103])",
                           "avg_pool2d(float32[1,2,3,4099], kernel_size=[3,4099])",
                           "avg_pool1d(float32[1,3,9000], kernel_size=9000)"})
    for (const Isa isa : all_isas) {
      const Schedule schedule = first(spec, isa);
      EXPECT_EQ(schedule.family(), Family::window_rows) << spec;
      EXPECT_GE(schedule.lanes, info(isa).vector_bytes / 4) << spec;
      EXPECT_TRUE(lower(frontend::make_nest(*frontend::parse_spec(spec)), schedule, isa)) << spec;
    }
}

// What such a window holds, a number of vectors beyond 2^31, fits into no registers.
TEST(Chooser, WindowsOfBillionsDoNotRollAlong) {
  const auto nest = frontend::make_nest(*frontend::parse_spec(
      "max_pool2d(float32[1,1,20,90000000000], kernel_size=[3,60000000001], stride=1)"));
  const auto rolling = parse_schedule("row_passes(lanes=16, scan=trailing, tail=mask)");
  const auto program = lower(nest, *rolling, Isa::avx512);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().id, "schedule.scan") << to_string(program.error());
}

// Pixels are read whole only where there are pixels.
TEST(Chooser, PlanesHaveNoPixels) {
  for (const char* spec : {"adaptive_max_pool2d(float32[1,72,55,416], output_size=7)",
                           "avg_pool2d(float32[1,64,6,6], kernel_size=21, padding=10)"})
    for (const Isa isa : all_isas) EXPECT_NE(first(spec, isa).family(), Family::whole_pixels) << spec;
}

}  // namespace
}  // namespace pooljit::ir
