// Planes by lines (ir/schedules/lowering/plane_lines.h): which sizes take them, and that proofs see their
// words. That they are right is tested with all code for all sizes (general_layers.h).
#include "ir/schedules/lowering/plane_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/choose/enumerate.h"
#include "ir/general/general.h"
#include "ir/general/size_words.h"
#include "ir/schedules/lower.h"
#include "ir/schedules/lowering/size_layout.h"
#include "proof/program/prove.h"
#include "runtime/compile.h"
#include "runtime/cpu_features.h"

namespace pooljit {
namespace {

std::string joined(const std::vector<int64_t>& extents) { return fmt::format("{}", fmt::join(extents, "x")); }

ir::PoolNest layer_at(std::string text, const std::vector<int64_t>& extents) {
  text.replace(text.find("SIZE"), 4, fmt::format("{}", fmt::join(extents, ",")));
  const auto spec = frontend::parse_spec(text);
  EXPECT_TRUE(spec) << to_string(spec.error());
  return make_nest(*spec);
}

// Lines of 8 lanes that hold a row; 0: other code takes the planes.
TEST(PlaneLines, AreOneOrTwoForARow) {
  struct Row {
    const char* layer;
    std::vector<int64_t> size;
    int64_t lines;
  };
  const char* const max3 = "max_pool2d(float32[1,2,SIZE], kernel_size=3, stride=1, padding=1)";
  const char* const max5 = "max_pool2d(float32[1,2,SIZE], kernel_size=5, stride=1, padding=2)";
  const char* const average = "avg_pool2d(float32[1,2,SIZE], kernel_size=3, stride=1, padding=1)";
  const char* const counted =
      "avg_pool2d(float32[1,2,SIZE], kernel_size=3, stride=1, padding=1, count_include_pad=False)";
  const char* const points = "max_pool2d(float32[1,2,SIZE], kernel_size=1, stride=1)";
  for (const Row& row : {Row{max3, {5, 7}, 1},
                         {max3, {5, 8}, 2},
                         {max3, {5, 15}, 2},
                         {max3, {5, 16}, 0},
                         {max5, {5, 6}, 1},
                         {max5, {5, 7}, 2},
                         {max5, {5, 14}, 2},
                         {max5, {5, 15}, 0},
                         {max3, {126, 7}, 1},
                         {max3, {127, 7}, 0},
                         {average, {5, 7}, 1},
                         {counted, {5, 7}, 0},
                         {points, {5, 8}, 1}}) {
    const ir::PoolNest nest = layer_at(row.layer, row.size);
    const int64_t lines = ir::PlaneLines::suits(nest) ? ir::PlaneLines::count(nest.dims.back(), 8) : 0;
    EXPECT_EQ(lines, row.lines) << row.layer << " " << joined(row.size);
  }
}

// Of a Program for all extents, at one of them.
struct SizedProgram {
  ir::PoolNest nest;
  ir::Program program;
  std::vector<int64_t> words;

  SizedProgram(const char* text, const std::vector<int64_t>& extents) : nest(layer_at(text, extents)) {
    const ir::PoolNest general = *general_nest(nest, ir::Sizes::any);
    program = *lower(general, ir::enumerate_schedules(general, ir::Isa::avx2, 1).front(), ir::Isa::avx2);
    words = *size_words(general, nest);
  }
  ir::Result<ir::ProgramProof> prove() const { return prove(words); }
  ir::Result<ir::ProgramProof> prove(const std::vector<int64_t>& others) const {
    return ir::prove(program, nest, 1, {&others, 1});
  }
};

// Of planes by lines of one vector, and of two, a word that is wrong is found.
TEST(PlaneLines, WrongWordsAreFound) {
  using Layout = ir::SizeLayout;
  for (const char* text : {"max_pool2d(float32[1,2,SIZE], kernel_size=3, stride=1, padding=1)",
                           "max_pool2d(float32[1,2,SIZE], kernel_size=5, stride=1, padding=2)",
                           "avg_pool2d(float32[1,2,SIZE], kernel_size=3, stride=1, padding=1)"})
    for (const std::vector<int64_t>& extents : {std::vector<int64_t>{5, 5}, {6, 13}}) {
      const SizedProgram subject(text, extents);
      const Layout layout(subject.nest);
      ASSERT_TRUE(subject.prove()) << text << " " << joined(extents);
      std::vector<int> read = {layout.position(Layout::input, 0),
                               layout.position(Layout::output, 0),
                               layout.channel(Layout::input),
                               layout.channel(Layout::output),
                               layout.tiles(8, extents[1] < 8 ? Layout::one_line : Layout::two_lines),
                               layout.of_dim(0, Layout::output_pairs)};
      for (const auto field : {Layout::first, Layout::visible, Layout::outputs})
        for (const size_t dim : {size_t{0}, size_t{1}}) read.push_back(layout.of_dim(dim, field));
      for (const int word : read)
        for (const int64_t more : {-8, 8}) {
          std::vector<int64_t> wrong = subject.words;
          wrong[static_cast<size_t>(word)] += more;
          EXPECT_FALSE(subject.prove(wrong))
              << text << " " << joined(extents) << ": word " << word << " + " << more;
        }
    }
}

// In NCHW, and in NHWC of few channels, a size has code of its own from the first run on where that could not
// follow later, as it gives other bits (sums), and code for all sizes is slow: short adaptive windows, and
// rows that fill few vectors, unless planes go by lines; and windows of so many taps that they do not roll.
TEST(PlaneLines, DecideWhichNarrowRowsAreCompiled) {
  struct Row {
    const char *layer, *isa;
    std::vector<int64_t> size;
    bool is_general;
  };
  const char* const same = "max_pool2d(float32[1,3,H,W], kernel_size=3, stride=1, padding=1)";
  const char* const sum =
      "avg_pool2d(float32[1,3,H,W], kernel_size=3, padding=1, stride=1, count_include_pad=";
  const std::string counted = std::string(sum) + "False)", all = std::string(sum) + "True)";
  const char* const windows = "adaptive_avg_pool2d(float32[1,3,H,W], output_size=7)";
  const char* const apart = "max_pool2d(float32[1,3,H,W], kernel_size=2, stride=2)";
  const char* const pixels = "max_pool2d(float32[1,3,H,W]:nhwc, kernel_size=7, stride=1, padding=3)";
  const char* const many = "avg_pool2d(float32[1,3,H,W]:nhwc, kernel_size=31, stride=1, padding=15)";
  for (const Row& row : {Row{same, "avx2", {9, 7}, true},
                         {pixels, "avx2", {224, 224}, true},
                         {pixels, "avx2", {9, 5}, false},
                         {many, "avx512", {200, 300}, false},
                         {many, "avx512", {9, 9}, true},
                         {same, "avx2", {9, 14}, true},
                         {same, "avx2", {200, 14}, true},
                         {same, "avx2", {200, 16}, true},
                         {same, "avx512", {9, 28}, true},
                         {all.c_str(), "avx512", {9, 28}, true},
                         {all.c_str(), "avx512", {9, 7}, false},
                         {counted.c_str(), "avx512", {9, 28}, false},
                         {apart, "avx2", {8, 14}, true},
                         {apart, "avx2", {8, 40}, true},
                         {windows, "avx2", {9, 55}, false},
                         {windows, "avx2", {3, 56}, true},
                         {"global_avg_pool2d(float32[1,3,H,W])", "avx2", {7, 7}, true}}) {
    if (!runtime::can_run(*ir::find_isa(row.isa))) continue;
    const auto any = runtime::compile_any(row.layer, {.backend = "xbyak", .isa = row.isa});
    ASSERT_TRUE(any) << to_string(any.error());
    const auto free = std::get<runtime::FreeKernelPtr>(*any);
    const runtime::KernelPtr kernel = *free->code_for_run(row.size);
    EXPECT_EQ(kernel->code().machine()->blob == free->general_code()->machine()->blob, row.is_general)
        << row.layer << " " << row.isa << " " << joined(row.size);
  }
}

}  // namespace
}  // namespace pooljit
