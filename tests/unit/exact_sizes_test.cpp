// Sizes of free kernels that get code of their own: when, and that no bit of a result changes by it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>
#include <vector>

#include "runtime/compile.h"
#include "runtime/cpu_features.h"
#include "runtime/sized_code.h"
#include "tests/matrix/specs.h"
#include "tests/unit/free_kernels.h"
#include "tools/fuzz/draw.h"

namespace pooljit::runtime {
namespace {

using frontend::PoolSpec;

TEST(ExactSizes, ARunOfASizeMakesItsExactCode) {
  const std::string text = "max_pool2d(float32[1,16,H,W]:nhwc, kernel_size=3, stride=2)";
  const FreeKernelPtr free = compile_free(text, {.exact_after = 3});
  ASSERT_TRUE(free->general_code());
  const std::vector<int64_t> size = {9, 12};
  const KernelPtr general = *free->code_for_run(size);
  EXPECT_EQ(general->code().machine()->blob, free->general_code()->machine()->blob);
  EXPECT_EQ(*free->code_for_run(size), general);
  EXPECT_EQ(free->exact_sizes(), 0U);
  const KernelPtr exact = *free->code_for_run(size);
  EXPECT_NE(exact->code().machine()->blob, general->code().machine()->blob);
  EXPECT_EQ(free->exact_sizes(), 1U);
  EXPECT_EQ(*free->code_for_run(size), exact);
  // Parts of a run are told nothing of each other: all are the general code's.
  EXPECT_EQ(*free->code_for(size), general);
  EXPECT_EQ(free->exact_sizes(), 1U);
}

TEST(ExactSizes, ExactCodeIsLeftToThoseWhoWantIt) {
  const std::string text = "max_pool2d(float32[1,16,H,W]:nhwc, kernel_size=3, stride=2)";
  const FreeKernelPtr never = compile_free(text, {.exact_after = -1}),
                      first = compile_free(text, {.exact_after = 1});
  for (int run = 0; run < 5; ++run) {
    EXPECT_EQ((*never->code_for_run({{9, 12}}))->code().machine()->blob,
              never->general_code()->machine()->blob);
    ASSERT_TRUE(first->code_for_run({{9, 12}}));
  }
  EXPECT_EQ(never->exact_sizes(), 0U);
  EXPECT_FALSE(first->general_code());
  EXPECT_EQ(*first->code_for({{9, 12}}), *first->code_for_run({{9, 12}}));
  for (const int wrong : {-2, -1000}) {
    const auto refused = compile_any(text, {.exact_after = wrong});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().id, "runtime.options");
  }
}

TEST(ExactSizes, ExactCodeGoesWithItsSize) {
  const FreeKernelPtr free =
      compile_free("max_pool1d(uint8[1,8,L]:nwc, kernel_size=2)", {.sizes = 2, .exact_after = 2});
  const auto before = cache().stats().entries;
  for (const int64_t extent : {20, 21, 22, 23, 20})
    for (int run = 0; run < 3; ++run) ASSERT_TRUE(free->code_for_run({{extent}}));
  EXPECT_EQ(free->kept_sizes(), 2U);
  EXPECT_EQ(free->exact_sizes(), 2U);
  EXPECT_EQ(cache().stats().entries, before + 2);
}

// Several pools of one tensor; code: whether one piece serves all sizes.
struct Pools {
  const char* text;
  bool has_code;
} const pools_of_free_sizes[] = {
    {"pools(float32[2,40,H,W], max_pool2d(kernel_size=5, stride=1, padding=2), max_pool2d(kernel_size=9, "
     "stride=1, padding=4), concat=True, include_input=True)",
     true},
    {"pools(float32[2,40,H,W]:nhwc, max_pool2d(kernel_size=5, stride=1, padding=2), "
     "max_pool2d(kernel_size=9, "
     "stride=1, padding=4), concat=True, include_input=True)",
     true},
    {"pools(float32[1,300,H,W]:nhwc, max_pool2d(kernel_size=3, stride=2, padding=1), "
     "avg_pool2d(kernel_size=2, stride=1))",
     true},
    {"pools(uint8[2,70,H,W]:nhwc, global_avg_pool2d(), max_pool2d(kernel_size=3, dilation=2), "
     "adaptive_max_pool2d(output_size=2))",
     true},
    {"pools(float32[2,12,H,W], max_pool2d(kernel_size=3, return_indices=True), avg_pool2d(kernel_size=3, "
     "epilogue=[scale_channel, relu]))",
     true},
    {"pools(float32[1,8,H,W], max_pool2d(kernel_size=2), global_max_pool2d(), "
     "adaptive_avg_pool2d(output_size=2))",
     true},
};

TEST(ExactSizes, SeveralPoolsShareCode) {
  for (const Pools& row : pools_of_free_sizes) {
    SCOPED_TRACE(row.text);
    const FreeKernelPtr free = compile_free(row.text, {.exact_after = 3});
    ASSERT_TRUE(free);
    ASSERT_EQ(free->general_code() != nullptr, row.has_code) << free->schedule_origin();
    for (const std::vector<int64_t>& size : {std::vector<int64_t>{6, 5}, {9, 40}, {17, 23}}) {
      const auto general = free->code_for_run(size);
      ASSERT_TRUE(general) << to_string(general.error());
      EXPECT_EQ(objection(*general, DataKind::ties, 1), "") << (*general)->text();
      if (!row.has_code) continue;
      EXPECT_EQ((*general)->code().machine()->blob, free->general_code()->machine()->blob);
      ASSERT_EQ(*free->code_for_run(size), *general);
      const KernelPtr exact = *free->code_for_run(size);
      for (const DataKind kind : data_kinds((*general)->code().info.nest.members[0]))
        EXPECT_EQ(objection(*general, kind, 2, exact), "") << (*general)->text() << " " << name(kind);
    }
  }
}

// Layers of floats where codes differ in zeros and NaNs, at sizes with and without whole windows. has_exact:
// whether the size gets code of its own all the same, by either instruction set.
struct FloatLayer {
  const char *text, *size;
  bool has_exact;
} const float_layers[] = {
    {"max_pool2d(float32[1,70,H,W]:nhwc, kernel_size=3, stride=2, padding=1)", "9x40", true},
    {"max_pool2d(float32[1,70,H,W]:nhwc, kernel_size=3, stride=2, padding=1)", "1x1", false},
    {"max_pool2d(float32[1,40,H,W]:nhwc, kernel_size=[4,7], stride=1, padding=[2,3])", "12x11", true},
    {"max_pool2d(float32[1,40,H,W]:nhwc, kernel_size=[4,5], stride=1, padding=2)", "1x6", false},
    {"max_pool2d(float32[1,8,H,W], kernel_size=[2,4], stride=1, padding=[1,2])", "7x40", true},
    {"max_pool2d(float32[1,3,H,W], kernel_size=3, stride=2, padding=1)", "9x40", true},
    {"max_pool2d(float32[1,3,H,W], kernel_size=3, stride=2, padding=1)", "9x14", true},
    {"max_pool2d(float32[1,3,H,W], kernel_size=[2,3], stride=[1,2], padding=1)", "5x7", true},
    {"max_pool2d(float32[1,3,H,W], kernel_size=[3,2], stride=[2,4])", "9x29", true},
    {"max_pool2d(float32[1,3,H,W], kernel_size=[3,13], stride=1, padding=[1,6])", "9x41", false},
    {"max_pool2d(float32[1,3,H,W], kernel_size=[3,5], stride=1, padding=[1,2])", "5x17", false},
    {"max_pool2d(float32[1,3,H,W], kernel_size=3, return_indices=True)", "9x41", true},
    {"avg_pool2d(float32[1,8,H,W], kernel_size=2, stride=3, padding=1)", "4x28", false},
    {"avg_pool2d(float32[1,16,H,W]:nhwc, kernel_size=2, stride=3, padding=1)", "4x28", true},
    {"max_pool2d(float32[1,3,H,W]:nhwc, kernel_size=3, stride=2, padding=1)", "9x40", true},
    {"max_pool2d(float32[1,3,H,W]:nhwc, kernel_size=[2,3], stride=1, padding=[1,1])", "9x40", true},
    {"max_pool2d(float32[1,3,H,W]:nhwc, kernel_size=5, stride=1, padding=2)", "9x40", false},
    {"avg_pool2d(float32[1,3,H,W]:nhwc, kernel_size=3, stride=1, padding=1)", "9x40", false},
    {"avg_pool2d(float32[1,8,H,W], kernel_size=2, stride=3, padding=1)", "1x28", false},
    {"avg_pool2d(float16[1,40,H,W]:nhwc, kernel_size=[1,2], stride=[1,2], padding=[0,1])", "5x2", false},
    {"global_avg_pool2d(float32[1,40,H,W]:nhwc)", "5x7", false},
    {"global_max_pool2d(float32[1,40,H,W]:nhwc)", "5x7", true},
    {"global_max_pool2d(float32[1,40,H,W])", "5x7", false},
    {"global_max_pool2d(float32[1,40,H,W], return_indices=True)", "5x7", true},
    {"adaptive_max_pool2d(float32[1,5,H,W], output_size=2)", "9x33", false},
    {"pools(float32[1,40,H,W]:nhwc, max_pool2d(kernel_size=3), global_max_pool2d())", "5x7", true},
    {"pools(float32[1,40,H,W]:nhwc, max_pool2d(kernel_size=3), global_avg_pool2d())", "5x7", false},
};

TEST(ExactSizes, ZerosAndNansStayWhatTheyAre) {
  for (const FloatLayer& layer : float_layers)
    for (const ir::IsaInfo& isa : ir::isa_table) {
      if (!can_run(isa.isa)) continue;
      SCOPED_TRACE(fmt::format("{} at {} {}", layer.text, layer.size, isa.text));
      const FreeKernelPtr free = compile_free(layer.text, {.isa = std::string(isa.text), .exact_after = 2});
      ASSERT_TRUE(free && free->general_code());
      const KernelPtr general = *free->code_for_run(size_of(layer.size)),
                      later = *free->code_for_run(size_of(layer.size));
      EXPECT_EQ(later != general, layer.has_exact);
      for (const DataKind kind : {DataKind::ties, DataKind::special})
        for (const uint64_t seed : {1, 2, 3})
          EXPECT_EQ(objection(general, kind, seed, later), "") << name(kind);
    }
}

// What NaN two maxima look for is by taps of a window and by vectors of a tile, with AVX2 alone.
TEST(ExactSizes, RowsThatLookForNansInTheEndKeepTheirCode) {
  const char* const text = "max_pool2d(float32[1,8,H,W], kernel_size=[9,2], stride=[2,3], padding=[3,2])";
  const FreeKernelPtr free = compile_free(text, {.isa = "avx2", .exact_after = 2});
  const KernelPtr general = *free->code_for_run({{12, 34}});
  EXPECT_EQ(*free->code_for_run({{12, 34}}), general);
}

// Whatever the values are: zeros of both signs, NaNs of any payload, sums that are rounded.
TEST(ExactSizes, GeneralAndExactCodeGiveTheSameBits) {
  std::vector<PoolSpec> layers;
  for (const tests::MatrixSpec& row : tests::pairs_of_matrix(2)) layers.push_back(row.spec);
  for (const std::string& text : tests::pools_specs(20)) layers.push_back(*frontend::parse_spec(text));
  fuzz::Draw draw(3);
  int64_t compared = 0, exact_codes = 0;
  for (const PoolSpec& layer : layers) {
    const auto text = freed(layer);
    if (!text) continue;
    const FreeKernelPtr free = compile_free(print(*text), {.exact_after = 2});
    if (!free->general_code()) continue;
    for (int n = 0; n < 3; ++n) {
      std::vector<int64_t> size;
      for (const frontend::SpecDim& dim : free->spec().dims) size.push_back(dim.input + draw.between(0, 12));
      const auto general = free->code_for_run(size);
      if (!general) continue;
      const KernelPtr exact = *free->code_for_run(size);
      exact_codes += exact != *general;
      const ir::PoolNest& nest = (*general)->code().info.nest;
      for (const DataKind kind : data_kinds(nest.members.empty() ? nest : nest.members.back())) {
        EXPECT_EQ(objection(*general, kind, static_cast<uint64_t>(compared) + 1, exact), "")
            << (*general)->text() << "\n"
            << (*general)->code().info.schedule << " " << name(kind);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 100);
  EXPECT_GT(exact_codes, compared / 8);
}

}  // namespace
}  // namespace pooljit::runtime
