// Narrow rows (ir/schedules/lowering/narrow_rows.h): which sizes have them, and that proofs see their words.
// That they are right is tested with all code for all sizes (general_layers.h).
#include "ir/schedules/lowering/narrow_rows.h"

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

// Vectors of 8 lanes that hold a row; 0: other code takes the planes. Strided rows may have more rows, but no
// divisors that differ along a row.
TEST(NarrowRows, AreOneVectorOrTwo) {
  struct Row {
    const char* layer;
    std::vector<int64_t> size;
    int vectors;
  };
  const char* const max3 = "max_pool2d(float32[1,2,SIZE], kernel_size=3, stride=1, padding=1)";
  const char* const max5 = "max_pool2d(float32[1,2,SIZE], kernel_size=5, stride=1, padding=2)";
  const char* const average = "avg_pool2d(float32[1,2,SIZE], kernel_size=3, stride=1, padding=1)";
  const char* const counted =
      "avg_pool2d(float32[1,2,SIZE], kernel_size=3, stride=1, padding=1, count_include_pad=False)";
  const char* const points = "max_pool2d(float32[1,2,SIZE], kernel_size=1, stride=1)";
  const char* const strided = "max_pool2d(float32[1,2,SIZE], kernel_size=3, stride=2, padding=1)";
  const char* const reaching = "max_pool2d(float32[1,2,SIZE], kernel_size=3, stride=2, ceil_mode=True)";
  const char* const apart = "avg_pool2d(float32[1,2,SIZE], kernel_size=2)";
  const char* const cut = "avg_pool2d(float32[1,2,SIZE], kernel_size=2, ceil_mode=True)";
  const char* const between = "max_pool2d(float32[1,2,SIZE], kernel_size=2, stride=5)";
  for (const Row& row :
       {Row{max3, {5, 7}, 1},   {max3, {5, 8}, 2},     {max3, {5, 15}, 2},    {max3, {5, 16}, 0},
        {max5, {5, 6}, 1},      {max5, {5, 7}, 2},     {max5, {5, 14}, 2},    {max5, {5, 15}, 0},
        {max3, {126, 7}, 1},    {max3, {127, 7}, 0},   {average, {5, 7}, 1},  {counted, {5, 7}, 0},
        {points, {5, 8}, 1},    {strided, {5, 7}, 2},  {strided, {5, 6}, 1},  {strided, {300, 14}, 2},
        {strided, {5, 15}, 0},  {reaching, {5, 7}, 1}, {reaching, {5, 8}, 2}, {reaching, {5, 15}, 2},
        {reaching, {5, 16}, 0}, {apart, {5, 9}, 1},    {apart, {5, 17}, 2},   {apart, {5, 18}, 0},
        {cut, {5, 8}, 1},       {cut, {5, 7}, 0},      {between, {5, 11}, 1}, {between, {5, 12}, 2},
        {between, {5, 17}, 0}}) {
    const ir::PoolNest nest = layer_at(row.layer, row.size);
    EXPECT_EQ(ir::NarrowRows::vectors(nest, 8), row.vectors) << row.layer << " " << joined(row.size);
  }
}

// Rows of more than a line, of stride 1: parts of 8 outputs.
TEST(NarrowRows, HaveParts) {
  struct Row {
    const char* layer;
    int64_t columns, parts;
  };
  const char* const max5 = "max_pool2d(float32[1,2,SIZE], kernel_size=5, stride=1, padding=2)";
  const char* const strided = "max_pool2d(float32[1,2,SIZE], kernel_size=3, stride=2, padding=1)";
  for (const Row& row : {Row{max5, 6, 0},
                         {max5, 7, 0},
                         {max5, 8, 1},
                         {max5, 20, 3},
                         {max5, 40, 5},
                         {max5, 128, 16},
                         {max5, 129, 0},
                         {strided, 20, 0}}) {
    const ir::PoolNest nest = layer_at(row.layer, {5, row.columns});
    EXPECT_EQ(ir::NarrowRows::parts(nest.dims.back(), 8), row.parts) << row.layer << " " << row.columns;
  }
}

// Of a Program for all extents, at one of them.
struct SizedProgram {
  ir::PoolNest nest;
  ir::Program program;
  std::vector<int64_t> words;

  SizedProgram(const char* text, const std::vector<int64_t>& extents) : nest(layer_at(text, extents)) {
    const ir::PoolNest general = *general_nest(nest, ir::Extents::any);
    program = *lower(general, ir::enumerate_schedules(general, ir::Isa::avx2, 1).front(), ir::Isa::avx2);
    words = *size_words(general, nest);
  }
  ir::Result<ir::ProgramProof> prove() const { return prove(words); }
  ir::Result<ir::ProgramProof> prove(const std::vector<int64_t>& others) const {
    return ir::prove(program, nest, 1, {&others, 1});
  }
};

// Of planes by lines of one vector, and of two, a word that is wrong is found.
TEST(NarrowRows, WrongWordsOfLinesAreFound) {
  using Layout = ir::SizeLayout;
  for (const char* text : {"max_pool2d(float32[1,2,SIZE], kernel_size=3, stride=1, padding=1)",
                           "max_pool2d(float32[1,2,SIZE], kernel_size=5, stride=1, padding=2)",
                           "avg_pool2d(float32[1,2,SIZE], kernel_size=3, stride=1, padding=1)"})
    for (const std::vector<int64_t>& extents : {std::vector<int64_t>{5, 5}, {6, 13}}) {
      const SizedProgram subject(text, extents);
      const Layout layout(subject.nest);
      ASSERT_TRUE(subject.prove()) << text << " " << joined(extents);
      std::vector<int> read = {layout.position(Layout::input, 0), layout.position(Layout::output, 0),
                               layout.channel(Layout::input), layout.channel(Layout::output),
                               layout.of_dim(0, Layout::output_pairs)};
      const bool is_one = extents[1] < 8;
      if (is_one) read.push_back(layout.tiles(8, Layout::one_vector));
      for (const auto field : {Layout::first, Layout::visible, Layout::outputs})
        for (const size_t dim : {size_t{0}, size_t{1}}) read.push_back(layout.of_dim(dim, field));
      for (const int word : read)
        for (const int64_t more : {-8, 8}) {
          std::vector<int64_t> wrong = subject.words;
          wrong[static_cast<size_t>(word)] += more;
          EXPECT_FALSE(subject.prove(wrong))
              << text << " " << joined(extents) << ": word " << word << " + " << more;
        }
      // More parts than there are would make the last one again.
      std::vector<int64_t> wrong = subject.words;
      if (!is_one) --wrong[static_cast<size_t>(layout.tiles(8, Layout::row_parts))];
      EXPECT_EQ(subject.prove(wrong).has_value(), is_one) << text << " " << joined(extents);
    }
}

// ... and of rows in parts, whose planes are copied: maxima that run down the plane, and bytes.
TEST(NarrowRows, WrongWordsOfPartsAreFound) {
  using Layout = ir::SizeLayout;
  struct Row {
    const char* layer;
    int lanes;
    bool runs;
  };
  for (const Row& row : {Row{"max_pool2d(float32[1,1,SIZE], kernel_size=13, stride=1, padding=6)", 8, true},
                         {"max_pool2d(uint8[1,2,SIZE], kernel_size=5, stride=1, padding=2)", 16, false},
                         {"avg_pool2d(uint8[1,2,SIZE], kernel_size=3, stride=1, padding=1)", 16, false}}) {
    const SizedProgram subject(row.layer, {15, 21});
    const Layout layout(subject.nest);
    ASSERT_TRUE(subject.prove()) << row.layer;
    std::vector<int> read = {layout.position(Layout::input, 0), layout.position(Layout::output, 0),
                             layout.tiles(row.lanes, Layout::row_parts)};
    if (row.runs) read.push_back(layout.of_dim(0, Layout::output_blocks));
    for (const auto field : {Layout::first, Layout::visible, Layout::outputs})
      for (const size_t dim : {size_t{0}, size_t{1}}) read.push_back(layout.of_dim(dim, field));
    for (const int word : read) {
      std::vector<int64_t> wrong = subject.words;
      --wrong[static_cast<size_t>(word)];
      EXPECT_FALSE(subject.prove(wrong)) << row.layer << ": word " << word;
    }
  }
}

// The same of strided rows. Fewer rows of whole windows than there are would be right, too, and so are more
// columns than the vectors hold.
TEST(NarrowRows, WrongWordsOfStridedRowsAreFound) {
  using Layout = ir::SizeLayout;
  for (const char* text : {"max_pool2d(float32[1,2,SIZE], kernel_size=3, stride=2, padding=1)",
                           "max_pool2d(float32[1,2,SIZE], kernel_size=[4,3], stride=[1,2], padding=1)",
                           "avg_pool2d(float32[1,2,SIZE], kernel_size=3, stride=2, padding=1)"})
    for (const std::vector<int64_t>& extents : {std::vector<int64_t>{5, 5}, {7, 13}}) {
      const SizedProgram subject(text, extents);
      const Layout layout(subject.nest);
      ASSERT_TRUE(subject.prove()) << text << " " << joined(extents);
      const auto objects = [&](int word, int64_t more) {
        std::vector<int64_t> wrong = subject.words;
        wrong[static_cast<size_t>(word)] += more;
        EXPECT_FALSE(subject.prove(wrong))
            << text << " " << joined(extents) << ": word " << word << " + " << more;
      };
      for (const int word : {layout.position(Layout::input, 0), layout.position(Layout::output, 0),
                             layout.channel(Layout::input), layout.channel(Layout::output),
                             layout.tiles(8, extents[1] < 8 ? Layout::one_vector : Layout::two_vectors),
                             layout.of_dim(0, Layout::first), layout.of_dim(0, Layout::visible),
                             layout.of_dim(1, Layout::first), layout.of_dim(1, Layout::visible)})
        for (const int64_t more : {-8, 8}) objects(word, more);
      objects(layout.column(Layout::stored_end), -8);
      objects(layout.of_dim(0, Layout::usual_begin), -8);
      objects(layout.of_dim(0, Layout::usual_end), 8);
    }
}

// In NCHW, and in NHWC of few channels, a size has code of its own from the first run on where that could not
// follow later, as it gives other bits (sums), and code for all sizes is slow: short adaptive windows, and
// rows that fill few vectors, unless narrow rows have code of their own; and windows of so many taps that
// they do not roll, if a run of the batch takes long.
TEST(NarrowRows, DecideWhatIsCompiled) {
  struct Row {
    const char *layer, *isa;
    std::vector<int64_t> size;
    bool is_general;
  };
  const char* const same = "max_pool2d(float32[1,3,H,W], kernel_size=3, stride=1, padding=1)";
  const char* const sum =
      "avg_pool2d(float32[1,3,H,W], kernel_size=3, padding=1, stride=1, count_include_pad=";
  const std::string counted = std::string(sum) + "False)", all = std::string(sum) + "True)";
  const char* const spp = "max_pool2d(float32[1,512,H,W], kernel_size=13, stride=1, padding=6)";
  const char* const windows = "adaptive_avg_pool2d(float32[1,3,H,W], output_size=7)";
  const char* const apart = "max_pool2d(float32[1,3,H,W], kernel_size=2, stride=2)";
  const char* const pixels = "max_pool2d(float32[1,3,H,W]:nhwc, kernel_size=7, stride=1, padding=3)";
  const char* const many = "avg_pool2d(float32[1,3,H,W]:nhwc, kernel_size=31, stride=1, padding=15)";
  const char* const means = "avg_pool2d(float32[1,3,H,W], kernel_size=2, stride=2)";
  const char* const gradient = "max_pool2d_backward(float32[1,3,H,W], kernel_size=3, stride=2, padding=1)";
  for (const Row& row : {Row{same, "avx2", {9, 7}, true},
                         {pixels, "avx2", {224, 224}, true},
                         {pixels, "avx2", {9, 5}, false},
                         {many, "avx512", {200, 300}, false},
                         {many, "avx512", {9, 9}, true},
                         {same, "avx2", {9, 14}, true},
                         {spp, "avx2", {20, 20}, true},
                         {spp, "avx512", {20, 20}, true},
                         {spp, "avx512", {200, 200}, false},
                         {same, "avx2", {200, 14}, true},
                         {same, "avx2", {200, 16}, true},
                         {same, "avx512", {9, 28}, true},
                         {all.c_str(), "avx512", {9, 28}, true},
                         {all.c_str(), "avx512", {9, 7}, false},
                         {counted.c_str(), "avx512", {9, 28}, false},
                         {apart, "avx2", {8, 14}, true},
                         {apart, "avx2", {8, 40}, true},
                         {means, "avx512", {8, 6}, false},
                         {means, "avx512", {8, 14}, true},
                         {means, "avx512", {8, 32}, true},
                         {means, "avx512", {8, 36}, false},
                         {means, "avx2", {8, 16}, true},
                         {means, "avx2", {8, 20}, false},
                         {means, "avx2", {8, 32}, true},
                         {windows, "avx2", {9, 55}, false},
                         {windows, "avx2", {3, 56}, true},
                         {gradient, "avx2", {8, 4}, true},
                         {gradient, "avx2", {8, 3}, false},
                         {gradient, "avx512", {8, 14}, true},
                         {"max_pool1d(int32[1,100,L], kernel_size=498)", "avx2", {498}, true},
                         {"max_pool1d(int32[32,100,L], kernel_size=498)", "avx2", {498}, false},
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
