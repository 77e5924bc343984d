// Code for all extents (ir/general/general.h): made once for a layer, run at many sizes, through every engine
// and ISA.
#include "ir/general/general.h"
#include "tests/schedule_words.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/agreement.h"
#include "ir/choose/enumerate.h"
#include "ir/general/size_words.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lanes/pixel_rows.h"
#include "ir/schedules/lower.h"
#include "ir/schedules/lowering/run_table.h"
#include "ir/schedules/lowering/size_layout.h"
#include "proof/program/prove.h"
#include "runtime/cpu_features.h"
#include "runtime/engines.h"
#include "runtime/sized_code.h"
#include "tests/unit/general_case.h"
#include "tests/unit/general_gradients.h"

namespace pooljit {
namespace {

using ir::PoolNest;

// All engines do what the oracle does, and what code for the size alone does with the same schedule, if there
// is such code, and if it adds in the same order.
void check(const SizedLayer& layer, bool has_exact_code = true, bool adds_alike = true) {
  SCOPED_TRACE(layer.text);
  const frontend::PoolSpec example = spec_at(layer.text, layer.sizes.front());
  const auto general = general_nest(make_nest(example), extents_of(layer.text));
  ASSERT_TRUE(general) << to_string(general.error());
  std::vector<Case> cases;
  for (const Extents& extents : layer.sizes) {
    SCOPED_TRACE(name(extents));
    const PoolNest nest = make_nest(spec_at(layer.text, extents));
    EXPECT_TRUE(general_nest(nest, extents_of(layer.text)).value() == *general)
        << "another nest at another size";
    cases.emplace_back(nest, *general);
  }
  std::vector<std::optional<Result>> expected(cases.size());
  for (const ir::IsaInfo& isa : ir::isa_table) {
    const ir::Schedule schedule = ir::enumerate_schedules(*general, isa.isa, 1).front();
    SCOPED_TRACE(std::string(isa.text) + " " + print(schedule));
    int exact_codes = 0;  // some schedules are not for the least sizes
    for (const auto engine : {runtime::Engine::interpreter, runtime::Engine::xbyak, runtime::Engine::llvm}) {
      if (!runtime::is_built(engine) || (runtime::info(engine).is_native && !runtime::can_run(isa.isa)))
        continue;
      SCOPED_TRACE(std::string(runtime::info(engine).text));
      const auto code = runtime::info(engine).make(*general, {engine, isa.isa, schedule});
      ASSERT_TRUE(code) << to_string(code.error());
      for (size_t i = 0; i < cases.size(); ++i) {
        const Case& c = cases[i];
        SCOPED_TRACE(name(layer.sizes[i]));
        const Result result = c.run(**code);
        if (engine == runtime::Engine::interpreter) {
          const auto sentence = ir::disagreement(c.nest, batch, c.input.data(), result.output.data(),
                                                 result.indices.data(), c.operand_words());
          ASSERT_FALSE(sentence) << *sentence;
          const auto exact = runtime::info(engine).make(c.nest, {engine, isa.isa, schedule});
          exact_codes += exact.has_value();
          if (exact && adds_alike) {
            ASSERT_TRUE(c.run(**exact, /*has_words=*/false) == result) << "differs from code for the size";
          }
          expected[i] = result;
        }
        ASSERT_TRUE(result == expected[i]) << "differs from the interpreter";
      }
    }
    EXPECT_TRUE(exact_codes > 0 || !has_exact_code);
  }
}

TEST(General, ChannelsLast) {
  for (const SizedLayer& layer : channels_last_layers) check(layer);
}

TEST(General, BlocksOfChannels) {
  for (const SizedLayer& layer : blocked_layers) check(layer);
}

TEST(General, Gradients) {
  for (const SizedLayer& layer : gradient_layers) check(layer);
}

TEST(General, GradientsOfRows) {
  for (const SizedLayer& layer : row_gradient_layers) check(layer);
  for (const SizedLayer& layer : uneven_gradient_layers)
    check(layer, /*has_exact_code=*/true, /*adds_alike=*/false);
}

TEST(General, GradientsOneByOne) {
  for (const SizedLayer& layer : one_by_one_gradient_layers) check(layer, /*has_exact_code=*/false);
}

TEST(General, GradientsOfWindowsThatFollowTheSize) {
  for (const SizedLayer& layer : following_gradient_layers) check(layer, /*has_exact_code=*/false);
  for (const SizedLayer& layer : following_row_gradient_layers)
    check(layer, /*has_exact_code=*/false, /*adds_alike=*/false);
}

TEST(General, OutputsInAnotherLayout) {
  for (const SizedLayer& layer : layers_between_layouts) check(layer);
  for (const SizedLayer& layer : following_between_layouts) check(layer, /*has_exact_code=*/false);
}

TEST(General, IndicesOfTheTensor) {
  for (const SizedLayer& layer : tensor_index_layers) check(layer);
  for (const SizedLayer& layer : following_index_layers) check(layer, /*has_exact_code=*/false);
}

TEST(General, ChannelsFirst) {
  for (const SizedLayer& layer : channels_first_layers) check(layer);
}

TEST(General, LongRows) {
  for (const SizedLayer& layer : long_row_layers) check(layer, /*has_exact_code=*/true, /*adds_alike=*/true);
  for (const SizedLayer& layer : far_apart_layers) check(layer, /*has_exact_code=*/false);
}

TEST(General, RowsOfPixels) {
  for (const SizedLayer& layer : pixel_row_layers) check(layer);
}

TEST(General, WindowsThatFollowTheSize) {
  for (const SizedLayer& layer : following_layers) check(layer, /*has_exact_code=*/false);
}

// Sums of floats have the order that they have in code for the size alone, of the same schedule.
TEST(General, SumsAreRoundedAlike) {
  constexpr auto engine = runtime::Engine::interpreter;
  for (const char* text : {"avg_pool2d(float32[2,3,SIZE], kernel_size=3, stride=1, padding=1)",
                           "avg_pool2d(float32[2,3,SIZE], kernel_size=[5,2], stride=1, padding=[2,1])",
                           "avg_pool2d(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1)",
                           "avg_pool3d(float32[2,3,2,SIZE], kernel_size=2, stride=1, padding=1)",
                           "lp_pool2d(float32[2,3,SIZE], norm_type=2, kernel_size=3, stride=1, padding=1)",
                           "avg_pool2d(float32[2,9,SIZE]:nhwc, kernel_size=3, stride=1, padding=1)",
                           "avg_pool2d(float32[2,3,SIZE]:nhwc, kernel_size=3, stride=1, padding=1)"})
    for (const ir::IsaInfo& isa : ir::isa_table)
      for (const Extents& extents : {Extents{7, 12}, {16, 9}, {6, 47}, {4, 80}}) {
        SCOPED_TRACE(fmt::format("{} {} {}", text, isa.text, name(extents)));
        const PoolNest nest = make_nest(spec_at(text, extents));
        const PoolNest general = *general_nest(nest, ir::Extents::any);
        const ir::Schedule schedule = ir::enumerate_schedules(general, isa.isa, 1).front();
        const auto code = runtime::info(engine).make(general, {engine, isa.isa, schedule});
        const auto exact = runtime::info(engine).make(nest, {engine, isa.isa, schedule});
        ASSERT_TRUE(code && exact) << print(schedule);
        const Case c(nest, general, /*tenths=*/true);
        EXPECT_TRUE(c.run(**code) == c.run(**exact, /*has_words=*/false)) << print(schedule);
      }
}

// Rows, planes and images with gaps between them have the code of packed ones.
TEST(General, ViewsMayHaveGaps) {
  constexpr auto engine = runtime::Engine::interpreter;
  for (const char* text : {"max_pool2d(float32[2,3,SIZE], kernel_size=3, stride=1, padding=1)",
                           "avg_pool2d(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1)"})
    for (const ir::IsaInfo& isa : ir::isa_table) {
      const PoolNest packed = make_nest(spec_at(text, {9, 40}));
      PoolNest apart = packed;
      for (ir::View* view : {&apart.input, &apart.output}) {
        view->strides[0] += 5;
        view->channel_stride = view->strides[0] * apart.dims[0].input + 3;
        view->batch_stride = view->channel_stride * apart.channels + 1;
      }
      const PoolNest general = *general_nest(packed, ir::Extents::any);
      EXPECT_TRUE(*general_nest(apart, ir::Extents::any) == general) << text;
      const ir::Schedule schedule = ir::enumerate_schedules(general, isa.isa, 1).front();
      const auto code = runtime::info(engine).make(general, {engine, isa.isa, schedule});
      ASSERT_TRUE(code) << to_string(code.error());
      const Case c(apart, general);
      const Result result = c.run(**code);
      const auto sentence =
          ir::disagreement(apart, batch, c.input.data(), result.output.data(), nullptr, c.operand_words());
      EXPECT_FALSE(sentence) << text << ": " << *sentence;
    }
}

// Of a Program for all extents the proof is one for each size.
struct Subject {
  PoolNest nest;
  ir::Program program;
  std::vector<int64_t> words;
  PoolNest general;
  bool is_rolling = false, masks = false, takes_pixels = false;

  Subject(const char* text, const Extents& extents)
      : nest(make_nest(spec_at(text, extents))), general(*general_nest(nest, ir::Extents::any)) {
    const ir::Schedule schedule = ir::enumerate_schedules(general, ir::Isa::avx2, 1).front();
    is_rolling = ir::scan_of(schedule) == "rolling";
    masks = schedule.tail == ir::Tail::mask;
    takes_pixels = schedule.family() == ir::Family::interleaved;
    program = *lower(general, schedule, ir::Isa::avx2);
    words = *size_words(general, nest);
  }
  // Where the words are that the Program reads.
  ir::SizeLayout layout() const { return ir::SizeLayout(takes_pixels ? as_one_channel(general) : general); }
  ir::Result<ir::ProgramProof> prove() const { return prove(words); }
  ir::Result<ir::ProgramProof> prove(const std::vector<int64_t>& others) const {
    return ir::prove(program, nest, 1, {&others, 1});
  }
};

const char* const proved[] = {
    "max_pool2d(float32[1,17,SIZE]:nhwc, kernel_size=3, stride=2, padding=1)",
    "max_pool2d(float32[1,17,SIZE]:nhwc, kernel_size=3, stride=1, padding=1)",
    "max_pool2d(float32[1,9,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, return_indices=True)",
    "avg_pool2d(float32[1,17,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, count_include_pad=False)",
};

// Of gradients of maxima the Program has no proof by symbols.
const char* const proved_elsewhere[] = {
    "max_pool2d(float32[1,40,SIZE]:nchw8c, kernel_size=3, stride=2, padding=1)",
    "max_pool2d(float32[1,2,SIZE], kernel_size=[2,40], stride=2, padding=[1,20])",
    "avg_pool2d(float32[1,2,SIZE], kernel_size=[2,40], stride=1, padding=[1,20], count_include_pad=False)",
    "avg_pool2d_backward(float32[1,9,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, "
    "count_include_pad=False)",
};

const char* const proved_rows[] = {
    "max_pool2d(float32[1,2,SIZE], kernel_size=3, stride=2, padding=1)",
    "max_pool2d(float32[1,2,SIZE], kernel_size=3, stride=1, padding=1)",
    "max_pool2d(uint8[1,2,SIZE], kernel_size=3, stride=1, padding=1)",
    "max_pool2d(float32[1,2,SIZE], kernel_size=3, stride=2, padding=1, return_indices=True)",
    "avg_pool2d(float32[1,2,SIZE], kernel_size=3, stride=2, padding=1, count_include_pad=False)",
    "max_pool2d(float32[1,3,SIZE]:nhwc, kernel_size=3, stride=1, padding=1)",
    "avg_pool2d(float32[1,3,SIZE]:nhwc, kernel_size=[2,3], stride=1, padding=1, count_include_pad=False)",
    "max_pool2d(float32[1,3,SIZE]:nhwc, kernel_size=3, stride=2, padding=1)",
};

const char* const proved_gradients[] = {
    "avg_pool2d_backward(float32[1,2,SIZE], kernel_size=3, stride=2, padding=1, count_include_pad=False)",
    "avg_pool2d_backward(float32[1,2,SIZE], kernel_size=3, stride=1, padding=1)",
    "sum_pool2d_backward(bfloat16[1,2,SIZE], kernel_size=3, stride=[1,3], padding=1)",
};

TEST(General, IsProvedSizeBySize) {
  for (const char* text : proved_rows)
    for (const Extents& extents : sizes_of_rows) {
      const auto proof = Subject(text, extents).prove();
      EXPECT_TRUE(proof) << text << " " << name(extents) << ": " << (proof ? "" : to_string(proof.error()));
    }
  const auto prove_all = [](const char* text) {
    for (const Extents& extents : sizes_2d) {
      const auto proof = Subject(text, extents).prove();
      EXPECT_TRUE(proof) << text << " " << name(extents) << ": " << (proof ? "" : to_string(proof.error()));
    }
  };
  std::ranges::for_each(proved, prove_all);
  std::ranges::for_each(proved_elsewhere, prove_all);
  std::ranges::for_each(proved_gradients, prove_all);
}

// A word that is wrong is found, whatever it is for.
TEST(General, WrongWordsAreFound) {
  for (const char* text : proved) {
    const Subject subject(text, {7, 13});
    const ir::SizeLayout layout = subject.layout();
    std::vector<int> read = {layout.position(ir::SizeLayout::input, 0),
                             layout.position(ir::SizeLayout::output, 0)};
    if (subject.nest.indices)
      for (const int word :
           {layout.position(ir::SizeLayout::indices, 0), layout.of_dim(0, ir::SizeLayout::weight),
            layout.of_dim(1, ir::SizeLayout::weight), layout.of_dim(0, ir::SizeLayout::carry)})
        read.push_back(word);
    if (subject.is_rolling)  // the row, by no table
      for (const auto field : {ir::SizeLayout::first, ir::SizeLayout::visible, ir::SizeLayout::outputs,
                               ir::SizeLayout::roll_begin})
        read.push_back(layout.of_dim(1, field));
    for (const size_t dim : {size_t{0}, size_t{1}}) {
      if (dim == 1 && subject.is_rolling) continue;
      read.push_back(layout.of_dim(dim, ir::SizeLayout::runs));
      read.push_back(layout.of_dim(dim, ir::SizeLayout::table));
      const auto table = static_cast<int>(subject.words[static_cast<size_t>(read.back())] / 8);
      const auto runs = subject.words[static_cast<size_t>(layout.of_dim(dim, ir::SizeLayout::runs))];
      // Outputs that an earlier run takes too are written once more, and right then.
      const int last = table + static_cast<int>(runs - 1) * ir::run_fields;
      read.push_back(last + ir::run_begin);
      if (dim == 1) read.push_back(last + ir::run_end);  // else the tasks end before
      // Of a border, which is taken tap by tap.
      read.insert(read.end(), {table + ir::run_full, table + ir::run_first, table + ir::run_taps});
      if (subject.nest.reduction == ir::Reduction::avg) read.push_back(table + ir::run_divisor);
    }
    for (const int word : read)
      for (const int64_t more : {-8, 8}) {
        std::vector<int64_t> wrong = subject.words;
        wrong[static_cast<size_t>(word)] += more;
        EXPECT_FALSE(subject.prove(wrong)) << text << ": word " << word << " + " << more;
      }
  }
}

// The same of rows. How outputs are cut among tiles, pairs and single ones may differ from what is best, and
// each is written right then: such words are left out.
TEST(General, WrongWordsOfRowsAreFound) {
  using Layout = ir::SizeLayout;
  for (const char* text : proved_rows) {
    const Subject subject(text, {7, 303});  // more columns than go by lines
    const Layout layout = subject.layout();
    const int lanes = subject.nest.input.dtype == ir::DType::u8 ? 32 : 8;
    std::vector<int> read = {layout.position(Layout::input, 0), layout.position(Layout::output, 0)};
    if (!subject.takes_pixels)
      read.insert(read.end(), {layout.channel(Layout::input), layout.channel(Layout::output)});
    // Columns of tiles too many are the last one again.
    if (!(subject.is_rolling && subject.masks))
      read.push_back(layout.tiles(lanes, subject.masks ? Layout::inside : Layout::run));
    for (const auto field : {Layout::first, Layout::visible, Layout::outputs}) {
      // Tiles of whole pixels cover all outputs of a row.
      const bool has_whole_pixels = subject.takes_pixels && subject.nest.dims[1].stride > 1;
      if (!(has_whole_pixels && field == Layout::outputs)) read.push_back(layout.of_dim(1, field));
      if (subject.is_rolling) read.push_back(layout.of_dim(0, field));
    }
    if (subject.is_rolling) read.push_back(layout.of_dim(0, Layout::roll_begin));
    if (subject.nest.indices)
      for (const int word : {layout.position(Layout::indices, 0), layout.of_dim(0, Layout::weight),
                             layout.of_dim(0, Layout::carry)})
        read.push_back(word);
    if (!subject.is_rolling) {
      const int table = layout.of_dim(0, Layout::table);
      read.push_back(static_cast<int>(subject.words[static_cast<size_t>(table)] / 8) + ir::run_taps);
    }
    for (const int word : read)
      for (const int64_t more : {-8, 8}) {
        std::vector<int64_t> wrong = subject.words;
        wrong[static_cast<size_t>(word)] += more;
        EXPECT_FALSE(subject.prove(wrong)) << text << ": word " << word << " + " << more;
      }
  }
}

// The reason is that of the rule that refuses the layer, on all instruction sets.
TEST(General, RefusalsNameTheirReason) {
  const auto spec = frontend::parse_spec("sum_pool2d(int8[2,4,H,W], kernel_size=3, strides=[1296,144,16,2])",
                                         frontend::FreeDims::allowed);
  ASSERT_TRUE(spec) << to_string(spec.error());
  for (const ir::IsaInfo& isa : ir::isa_table) {
    const auto nest = runtime::general_nest_of(*spec, {runtime::Engine::interpreter, isa.isa, std::nullopt});
    ASSERT_FALSE(nest);
    EXPECT_EQ(nest.error().id, "general.unsupported");
    EXPECT_NE(nest.error().message.find("channels that lie next to each other"), std::string::npos)
        << nest.error().message;
  }
}

TEST(General, RefusesWhatItDoesNotDo) {
  // Stores past the caches ask for an alignment that a size decides; rooms between members, for a plane.
  const PoolNest sized = make_nest(spec_at(
      "pools(float32[1,16,SIZE]:nhwc, max_pool2d(kernel_size=3), max_pool2d(kernel_size=5))", {8, 8}));
  const PoolNest pools = *general_pools(sized, std::vector(2, ir::Extents::any));
  const ir::Schedule offered = ir::enumerate_schedules(pools, ir::Isa::avx2, 1).front();
  ir::Schedule streamed = offered.members[0], fused = offered, chained = offered;
  streamed.stores = ir::Stores::streamed, fused.fused = true, chained.members[1].from = 0;
  EXPECT_EQ(lower(pools.members[0], streamed, ir::Isa::avx2).error().id, "schedule.stores");
  for (const ir::Schedule& one : {fused, chained})
    EXPECT_EQ(lower(pools, one, ir::Isa::avx2).error().id, "schedule.sizes") << print(one);
  // Windows that follow the extents are counted up to a bound, and so are the columns of a line of them.
  for (const auto& [text, size] :
       {std::pair("adaptive_avg_pool2d(float32[1,9,SIZE]:nhwc, output_size=2)", Extents{2, 700}),
        {"adaptive_max_pool2d(float32[1,9,SIZE]:nhwc, output_size=2)", {2, 70000}},
        {"global_avg_pool2d(float32[1,9,SIZE])", {300, 300}},
        {"global_avg_pool2d(float32[1,9,SIZE])", {257, 255}},
        {"global_avg_pool1d(float32[1,9,SIZE])", {16385}},
        {"global_avg_pool2d(uint8[1,9,SIZE])", {182, 182}},
        {"adaptive_max_pool2d(float32[1,9,SIZE], output_size=9)", {9, 2049}},
        {"max_pool1d(float32[1,9,SIZE], kernel_size=5000, stride=1, padding=2500)", {9000}},
        {"max_pool2d_backward(float32[1,9,SIZE], kernel_size=5, stride=2, "
         "padding=[0,0,-1,-1], ceil_mode=True)",
         {9, 13}}}) {
    const PoolNest large = make_nest(spec_at(text, size));
    const auto words = size_words(*general_nest(large, extents_of(text)), large);
    ASSERT_FALSE(words) << text;
    EXPECT_EQ(words.error().id, "general.window") << text;
  }
}

// Whatever the size is, its words are few: they grow with the unlike outputs of a dimension.
TEST(General, WordsAreFew) {
  const auto words = [](const char* text, const Extents& extents) {
    const PoolNest nest = make_nest(spec_at(text, extents));
    return size_words(*general_nest(nest, extents_of(text)), nest)->size();
  };
  for (const char* text : proved) EXPECT_EQ(words(text, {50, 50}), words(text, {5000, 5000})) << text;
  EXPECT_LT(words("adaptive_max_pool2d(float32[1,9,SIZE]:nhwc, output_size=[3,2])", {500, 300}), 115U);
}

}  // namespace
}  // namespace pooljit
