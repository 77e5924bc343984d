// Code for all extents (ir/general/general.h): made once for a layer, run at many sizes, through every engine
// and ISA.
#include "ir/general/general.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/agreement.h"
#include "ir/choose/enumerate.h"
#include "ir/general/size_words.h"
#include "ir/prove.h"
#include "ir/reductions/stored.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "ir/schedules/lowering/run_table.h"
#include "ir/schedules/lowering/size_layout.h"
#include "runtime/cpu_features.h"
#include "runtime/engines.h"
#include "runtime/memory_view.h"

namespace pooljit {
namespace {

using ir::PoolNest;
using Extents = std::vector<int64_t>;

constexpr int64_t batch = 2;

// A spec whose spatial extents are written as SIZE.
struct Layer {
  const char* text;
  std::vector<Extents> sizes;
};

frontend::PoolSpec spec_at(const std::string& text, const Extents& extents) {
  const size_t at = text.find("SIZE");
  const std::string sized =
      text.substr(0, at) + fmt::format("{}", fmt::join(extents, ",")) + text.substr(at + 4);
  const auto spec = frontend::parse_spec(sized);
  EXPECT_TRUE(spec) << sized << ": " << to_string(spec.error());
  return *spec;
}

ir::Sizes sizes_of(std::string_view text) {
  const bool follow = text.starts_with("global") || text.starts_with("adaptive");
  return follow ? ir::Sizes::any_windows : ir::Sizes::any;
}

std::string name(const Extents& extents) { return fmt::format("{}", fmt::join(extents, "x")); }

// Numbers whose sums are exact, some of them NaN.
template <typename Random>
void fill(std::vector<std::byte>& bytes, ir::DType dtype, Random& random) {
  const auto width = static_cast<size_t>(ir::bytes(dtype));
  for (size_t i = 0; i + width <= bytes.size(); i += width) {
    const int64_t number = static_cast<int64_t>(random() % 9) - 4;
    const bool is_rare = random() % 50 == 0;
    const int64_t bits = is_float(dtype) ? ir::float_bits(dtype, is_rare ? NAN : static_cast<double>(number))
                                         : ir::lane_bits(dtype, is_rare ? number * 31 : number);
    std::memcpy(&bytes[i], &bits, width);
  }
}

struct Result {
  std::vector<std::byte> output, indices;
  bool operator==(const Result&) const = default;
};

// A layer at a size, with its input.
struct Case {
  PoolNest nest;
  std::vector<std::vector<int64_t>> words;  // of the one pool
  std::vector<std::byte> input;
  std::vector<std::vector<std::byte>> operands;

  Case(PoolNest sized, const PoolNest& general) : nest(std::move(sized)) {
    const auto made = size_words(general, nest);
    EXPECT_TRUE(made) << to_string(made.error());
    words.push_back(*made);
    std::mt19937 random(static_cast<unsigned>(nest.dims[0].input));
    input.resize(static_cast<size_t>(runtime::input_view(nest, batch).span_bytes()));
    fill(input, nest.input.dtype, random);
    for (const runtime::MemoryView& view : runtime::operand_memory(nest, batch)) {
      operands.emplace_back(static_cast<size_t>(view.span_bytes()));
      fill(operands.back(), operand_views(nest)[operands.size() - 1].dtype, random);
    }
  }

  std::vector<const void*> operand_words() const {
    std::vector<const void*> words_of;
    for (const auto& operand : operands) words_of.push_back(operand.data());
    return words_of;
  }

  Result run(const runtime::Code& code, bool has_words = true) const {
    Result result;
    result.output.assign(static_cast<size_t>(runtime::output_view(nest, batch).span_bytes()),
                         std::byte{0xa5});
    result.indices.assign(static_cast<size_t>(runtime::indices_view(nest, batch).span_bytes()),
                          std::byte{0xa5});
    runtime::Call call{input.data(), result.output.data(), result.indices.data(), batch};
    std::ranges::copy(operand_words(), call.operands.begin());
    if (has_words) call.sized = &nest, call.sizes = words;
    // Two parts of the batch, and of the outer dimension.
    const std::vector<ir::TaskDim>& tasks = code.info.tasks;
    const int64_t rows = tasks.size() > 1 ? task_count(tasks[1], nest, batch) : 1;
    for (int64_t n = 0; n < batch; ++n)
      for (const auto& [begin, end] : {std::pair{int64_t{0}, rows / 2}, {rows / 2, rows}}) {
        runtime::TaskRanges ranges{};
        ranges[0] = {n, 1};
        ranges[1] = {begin, end - begin};
        code.run(call, ranges);
      }
    return result;
  }
};

// All engines do what the oracle does, and what code for the size alone does with the same schedule.
void check(const Layer& layer) {
  SCOPED_TRACE(layer.text);
  const frontend::PoolSpec example = spec_at(layer.text, layer.sizes.front());
  const auto general = general_nest(make_nest(example), sizes_of(layer.text));
  ASSERT_TRUE(general) << to_string(general.error());
  std::vector<Case> cases;
  for (const Extents& extents : layer.sizes) {
    SCOPED_TRACE(name(extents));
    const PoolNest nest = make_nest(spec_at(layer.text, extents));
    EXPECT_TRUE(general_nest(nest, sizes_of(layer.text)).value() == *general)
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
          if (exact) {
            ASSERT_TRUE(c.run(**exact, /*has_words=*/false) == result) << "differs from code for the size";
          }
          expected[i] = result;
        }
        ASSERT_TRUE(result == expected[i]) << "differs from the interpreter";
      }
    }
    EXPECT_GT(exact_codes, 0);
  }
}

// Smaller than the window, borders at both ends at once, no border, tails.
const std::vector<Extents> sizes_2d = {{8, 8}, {1, 1}, {2, 5}, {5, 2}, {3, 3}, {7, 12}, {16, 9}, {1, 33}};
const std::vector<Extents> sizes_of_whole = {{8, 8}, {3, 3}, {4, 7}, {9, 3}, {12, 17}};

const Layer channels_last_layers[] = {
    {"max_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1)", sizes_2d},
    {"max_pool2d(float32[2,70,SIZE]:nhwc, kernel_size=3, stride=1, padding=1)", sizes_2d},
    {"max_pool2d(uint8[2,65,SIZE]:nhwc, kernel_size=[3,2], stride=[1,2], padding=1)", sizes_2d},
    {"max_pool2d(bfloat16[2,24,SIZE]:nhwc, kernel_size=3, dilation=[1,2], padding=1)",
     {{8, 8}, {3, 5}, {4, 9}}},
    {"min_pool2d(float16[2,7,SIZE]:nhwc, kernel_size=2, stride=2)", {{8, 8}, {2, 2}, {5, 9}}},
    {"max_pool2d(float64[2,5,SIZE]:nhwc, kernel_size=3, stride=3, ceil_mode=True)", sizes_of_whole},
    {"max_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, return_indices=True)",
     sizes_2d},
    {"max_pool2d(uint8[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, return_indices=True)", sizes_2d},
    {"max_pool2d(float16[2,9,SIZE]:nhwc, kernel_size=3, dilation=3, padding=3, return_indices=True)",
     sizes_2d},
    {"max_pool2d(float32[2,9,SIZE]:nhwc, kernel_size=2, return_indices=True, index_scope=nhwc_batch)",
     {{8, 8}, {2, 2}, {5, 9}}},
    {"max_pool2d(float32[2,9,SIZE]:nhwc, kernel_size=2, return_indices=True, index_dtype=uint8, "
     "index_scope=window)",
     {{8, 8}, {2, 2}, {5, 9}}},
    {"max_pool3d(float32[2,9,SIZE]:ndhwc, kernel_size=[2,3,2], stride=2, padding=1, return_indices=True)",
     {{4, 4, 4}, {1, 1, 1}, {2, 5, 3}, {3, 1, 6}}},
    {"avg_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=1, padding=1)", sizes_2d},
    {"avg_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, count_include_pad=False, "
     "ceil_mode=True)",
     sizes_2d},
    {"avg_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, divisor_override=5)", sizes_2d},
    {"avg_pool2d(uint8[2,40,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, count_include_pad=False)",
     sizes_2d},
    {"avg_pool2d(int8[2,40,SIZE]:nhwc, kernel_size=2, stride=2, ceil_mode=True)", {{8, 8}, {2, 2}, {5, 9}}},
    {"avg_pool2d(bfloat16[2,40,SIZE]:nhwc, kernel_size=3, stride=2, padding=1)", sizes_2d},
    {"avg_pool2d(int64[2,3,SIZE]:nhwc, kernel_size=3, stride=2, padding=1)", sizes_2d},
    {"avg_pool1d(float32[2,24,SIZE]:nwc, kernel_size=4, stride=3, padding=2)", {{8}, {1}, {3}, {17}}},
    {"avg_pool3d(float32[2,9,SIZE]:ndhwc, kernel_size=3, stride=2, padding=1)",
     {{4, 4, 4}, {1, 1, 1}, {2, 5, 3}, {3, 1, 6}}},
    {"sum_pool2d(int16[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1)", sizes_2d},
    {"lp_pool2d(float32[2,24,SIZE]:nhwc, norm_type=2, kernel_size=3, stride=2, padding=1)", sizes_2d},
    {"max_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=9, stride=2, padding=4)", sizes_2d},
    {"max_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, padding=1, epilogue=[scale_channel, add, relu])",
     sizes_2d},
    {"global_avg_pool2d(float32[2,24,SIZE]:nhwc)", sizes_2d},
    {"global_avg_pool2d(uint8[2,24,SIZE]:nhwc)", {{8, 8}, {1, 1}, {3, 200}, {256, 2}}},
    {"global_max_pool2d(float32[2,24,SIZE]:nhwc)", sizes_2d},
    {"adaptive_max_pool2d(float32[2,24,SIZE]:nhwc, output_size=[3,2], return_indices=True)", sizes_2d},
    {"adaptive_avg_pool2d(float32[2,24,SIZE]:nhwc, output_size=[3,7])", sizes_2d},
    {"global_avg_pool1d(float32[2,3,SIZE]:nwc)", {{8}, {200}, {300}, {70000}}},
};

TEST(General, ChannelsLast) {
  for (const Layer& layer : channels_last_layers) check(layer);
}

// Of a Program for all extents the proof is one for each size.
struct Subject {
  PoolNest nest;
  ir::Program program;
  std::vector<int64_t> words;
  bool is_rolling = false;

  Subject(const char* text, const Extents& extents) : nest(make_nest(spec_at(text, extents))) {
    const PoolNest general = *general_nest(nest, ir::Sizes::any);
    const ir::Schedule schedule = ir::enumerate_schedules(general, ir::Isa::avx2, 1).front();
    is_rolling = schedule.order == ir::Order::rolling;
    program = *lower(general, schedule, ir::Isa::avx2);
    words = *size_words(general, nest);
  }
  ir::Result<ir::ProgramProof> prove() const { return prove(words); }
  ir::Result<ir::ProgramProof> prove(const std::vector<int64_t>& others) const {
    return ir::prove(program, nest, 1, {&others, 1});
  }
};

const char* const proved[] = {
    "max_pool2d(float32[1,9,SIZE]:nhwc, kernel_size=3, stride=2, padding=1)",
    "max_pool2d(float32[1,9,SIZE]:nhwc, kernel_size=3, stride=1, padding=1)",
    "max_pool2d(float32[1,9,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, return_indices=True)",
    "avg_pool2d(float32[1,9,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, count_include_pad=False)",
};

TEST(General, IsProvedSizeBySize) {
  for (const char* text : proved)
    for (const Extents& extents : sizes_2d) {
      const auto proof = Subject(text, extents).prove();
      EXPECT_TRUE(proof) << text << " " << name(extents) << ": " << (proof ? "" : to_string(proof.error()));
    }
}

// A word that is wrong is found, whatever it is for.
TEST(General, WrongWordsAreFound) {
  for (const char* text : proved) {
    const Subject subject(text, {7, 12});
    const ir::SizeLayout layout(subject.nest);
    std::vector<int> read = {layout.position(ir::SizeLayout::input, 0),
                             layout.position(ir::SizeLayout::output, 0)};
    if (subject.nest.indices)
      for (const int word :
           {layout.position(ir::SizeLayout::indices, 0), layout.of_dim(0, ir::SizeLayout::weight),
            layout.of_dim(1, ir::SizeLayout::weight), layout.of_dim(0, ir::SizeLayout::carry)})
        read.push_back(word);
    for (const size_t dim : {size_t{0}, size_t{1}}) {
      read.push_back(layout.of_dim(dim, ir::SizeLayout::runs));
      read.push_back(layout.of_dim(dim, ir::SizeLayout::table));
      const auto table = static_cast<int>(subject.words[static_cast<size_t>(read.back())] / 8);
      const auto runs = subject.words[static_cast<size_t>(layout.of_dim(dim, ir::SizeLayout::runs))];
      // Outputs that an earlier run takes too are written once more, and right then.
      const int last = table + static_cast<int>(runs - 1) * ir::sized_run_fields;
      read.push_back(last + ir::run_begin);
      if (dim == 1) read.push_back(last + ir::run_end);  // else the tasks end before
      // Of a border, which is taken tap by tap.
      read.insert(read.end(), {table + ir::run_full, table + ir::run_first, table + ir::run_taps});
      if (dim == 1 && subject.is_rolling) read.push_back(table + ir::sized_run_fields + ir::run_iterations);
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

TEST(General, RefusesWhatItDoesNotDo) {
  for (const char* text :
       {"max_pool2d_backward(float32[1,9,SIZE]:nhwc, kernel_size=3)",
        "max_pool2d(float32[1,16,SIZE]:nchw16c, kernel_size=3)",
        "max_pool2d(float32[1,9,SIZE]:nhwc, kernel_size=3, return_indices=True, index_scope=tensor)",
        "pools(float32[1,9,SIZE]:nhwc, max_pool2d(kernel_size=1), max_pool2d(kernel_size=1))"}) {
    const auto general = general_nest(make_nest(spec_at(text, {8, 8})), ir::Sizes::any);
    ASSERT_FALSE(general) << text;
    EXPECT_EQ(general.error().id, "general.unsupported") << text;
  }
  // Lanes are channels: a row of neighbouring outputs has code for one size.
  const auto rows = general_nest(make_nest(spec_at("max_pool2d(float32[1,9,SIZE], kernel_size=3)", {8, 8})),
                                 ir::Sizes::any);
  ASSERT_TRUE(rows) << to_string(rows.error());
  const auto program = lower(*rows, {}, ir::Isa::avx2);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().id, "schedule.sizes");
  // Windows that follow the extents are counted up to a bound.
  const PoolNest long_row = make_nest(spec_at("global_max_pool2d(float32[1,9,SIZE]:nhwc)", {2, 300}));
  const auto words = size_words(*general_nest(long_row, ir::Sizes::any_windows), long_row);
  ASSERT_FALSE(words);
  EXPECT_EQ(words.error().id, "general.window");
}

// Whatever the size is, its words are few: they grow with the unlike outputs of a dimension.
TEST(General, WordsAreFew) {
  const auto words = [](const char* text, const Extents& extents) {
    const PoolNest nest = make_nest(spec_at(text, extents));
    return size_words(*general_nest(nest, sizes_of(text)), nest)->size();
  };
  for (const char* text : proved) EXPECT_EQ(words(text, {50, 50}), words(text, {5000, 5000})) << text;
  EXPECT_LT(words("adaptive_max_pool2d(float32[1,9,SIZE]:nhwc, output_size=[3,2])", {500, 300}), 100U);
}

}  // namespace
}  // namespace pooljit
