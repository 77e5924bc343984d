// The parts of check() can fail: a difference, a written gap, an access beyond a buffer are each shown to
// them.
#include "lab/check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <limits>
#include <set>

#include "frontend/pool_spec.h"
#include "golden.h"
#include "ir/schedule_text.h"
#include "lab/check_budget.h"
#include "lab/check_case.h"
#include "lab/check_compare.h"
#include "lab/check_data.h"
#include "lab/crash_context.h"
#include "lab/elements.h"
#include "runtime/proof/guarded_buffer.h"

namespace pooljit::runtime {
namespace {

MemoryView rows(int64_t count, int64_t row_bytes, int64_t columns) {
  MemoryView view;
  view.element_bytes = 4;
  view.room[view.rank++] = {count, row_bytes};
  view.room[view.rank++] = {columns, 4};
  return view;
}

std::vector<std::byte> memory_of(const std::vector<uint32_t>& words) {
  std::vector<std::byte> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

// Two rows of two elements, a gap of one word behind the first.
const MemoryView gapped = rows(2, 12, 2);
const std::vector<uint32_t> words = {1, 2, 0xa5a5a5a5, 3, 4};
constexpr uint32_t nan_a = 0x7fc00000, nan_b = 0xffc00001;

TEST(FirstDifference, EqualMemoryHasNone) {
  EXPECT_FALSE(first_difference({"output"}, gapped, memory_of(words), memory_of(words)));
}

TEST(FirstDifference, NamesThePositionAndBothValues) {
  std::vector<uint32_t> wrong = words;
  wrong[3] = 0x3f800000;
  wrong[4] = 0;
  const auto difference = first_difference({"output"}, gapped, memory_of(words), memory_of(wrong));
  ASSERT_TRUE(difference);
  EXPECT_EQ(*difference, "output [1,0] is 1 (0x3f800000), expected 4e-45 (0x00000003)");
}

TEST(FirstDifference, SeesAWrittenGap) {
  std::vector<uint32_t> wrong = words;
  wrong[2] = 0;
  const auto difference = first_difference({"output"}, gapped, memory_of(words), memory_of(wrong));
  ASSERT_TRUE(difference);
  EXPECT_NE(difference->find("byte 8"), std::string::npos) << *difference;
}

TEST(FirstDifference, NansAreEqualOnlyWhereAskedFor) {
  const MemoryView one = rows(1, 4, 1);
  const auto a = memory_of({nan_a}), b = memory_of({nan_b}), number = memory_of({0x3f800000});
  EXPECT_TRUE(first_difference({"output", ir::DType::f32, false}, one, a, b));
  EXPECT_FALSE(first_difference({"output", ir::DType::f32, true}, one, a, b));
  EXPECT_TRUE(first_difference({"output", ir::DType::f32, true}, one, a, number));
  // Zeros are equal as numbers, not as results.
  EXPECT_TRUE(first_difference({"output"}, one, memory_of({0}), memory_of({0x80000000})));
}

TEST(ElementBytes, MarkWhatBelongsToElements) {
  EXPECT_TRUE(element_bytes(rows(2, 8, 2)).empty());
  const std::vector<bool> flags = element_bytes(gapped);
  ASSERT_EQ(flags.size(), 20U);
  for (size_t i = 0; i < flags.size(); ++i) EXPECT_EQ(flags[i], i < 8 || i >= 12) << i;
}

TEST(GuardedBuffer, CrashesBeyondTheFlushEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  using Flush = GuardedBuffer::Flush;
  for (const size_t bytes : {size_t{1}, size_t{100}, size_t{4096}, size_t{5000}}) {
    const auto back = GuardedBuffer::make(bytes, Flush::last_byte);
    const auto front = GuardedBuffer::make(bytes, Flush::first_byte);
    ASSERT_TRUE(back && front);
    std::ranges::fill(back->bytes(), std::byte{1});
    std::ranges::fill(front->bytes(), std::byte{1});
    volatile std::byte* const last = back->data() + bytes - 1;
    volatile std::byte* const first = front->data();
    EXPECT_DEATH(last[1] = std::byte{2}, "");
    EXPECT_DEATH(first[-1] = std::byte{2}, "");
  }
}

TEST(GuardedBuffer, ARefusalIsAnError) {
  const auto buffer =
      GuardedBuffer::make(std::numeric_limits<size_t>::max() / 2, GuardedBuffer::Flush::last_byte);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().id, "system.memory");
}

TEST(CrashContext, IsPrintedByACrash) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        report_crashes();
        set_crash_context("the kernel of this test");
        std::raise(SIGSEGV);
      },
      "crashed while running the kernel of this test");
}

TEST(CheckData, HasTheValuesThatItsKindPromises) {
  const MemoryView view = rows(1, 4, 4096);
  const auto words_of = [&](DataKind kind, uint64_t seed) {
    std::vector<std::byte> memory(size_t(view.span_bytes()));
    fill_input(view, ir::DType::f32, kind, seed, memory);
    std::vector<uint32_t> result(4096);
    std::memcpy(result.data(), memory.data(), memory.size());
    return result;
  };
  std::set<uint32_t> nans, special;
  for (const uint32_t word : words_of(DataKind::special, 1)) {
    special.insert(word);
    if ((word & 0x7fffffff) > 0x7f800000) nans.insert(word);
  }
  EXPECT_GT(nans.size(), 10U);  // distinct payloads
  for (const uint32_t wanted : {0x00000000U, 0x80000000U, 0x7f800000U, 0xff800000U, 0x00000001U, 0xff7fffffU})
    EXPECT_TRUE(special.contains(wanted)) << std::hex << wanted;
  const auto ties = words_of(DataKind::ties, 1);
  EXPECT_LT(std::set(ties.begin(), ties.end()).size(), 8U);
  for (const DataKind kind : {DataKind::plain, DataKind::range})
    for (const uint32_t word : words_of(kind, 1)) EXPECT_LT(word & 0x7fffffff, 0x7f800000U);
  EXPECT_EQ(words_of(DataKind::plain, 5), words_of(DataKind::plain, 5));
  EXPECT_NE(words_of(DataKind::plain, 5), words_of(DataKind::plain, 6));
}

TEST(CheckData, FillsGapsWithWhatWouldShow) {
  std::vector<std::byte> memory(size_t(gapped.span_bytes()));
  fill_input(gapped, ir::DType::f32, DataKind::plain, 1, memory);
  float gap = 0;
  std::memcpy(&gap, &memory[8], sizeof gap);
  EXPECT_GT(gap, 1e38F);
}

const std::vector<ir::TaskDim> rows_of_planes = {{"n", ir::TaskDim::batch_extent}, {"c", 5}, {"o0", 40}};

ir::PoolNest nest_of_planes() {
  return frontend::make_nest(*frontend::parse_spec("max_pool2d(float32[1,5,40,40], kernel_size=1)"));
}

TEST(ChooseTasks, AreAllWhereThereIsTimeForAll) {
  const Tasks tasks = choose_tasks(nest_of_planes(), rows_of_planes, 2, 2 * 5 * 40 * 40, 1);
  EXPECT_TRUE(tasks.is_all());
  ASSERT_EQ(tasks.cells.size(), 1U);
  EXPECT_EQ(tasks.cells[0][0].count * tasks.cells[0][1].count * tasks.cells[0][2].count, 2 * 5 * 40);
}

TEST(ChooseTasks, AreElseTheFirstTheLastAndDifferentOnesBetween) {
  for (const int64_t wanted : {3, 4, 50, 399}) {
    const Tasks tasks = choose_tasks(nest_of_planes(), rows_of_planes, 2, double(wanted * 40), 1);
    EXPECT_FALSE(tasks.is_all());
    EXPECT_EQ(tasks.share, double(wanted) / 400);
    std::set<int64_t> numbers;
    for (const TaskRanges& cell : tasks.cells) {
      for (size_t d = 0; d < 3; ++d) EXPECT_EQ(cell[d].count, 1);
      numbers.insert((cell[0].begin * 5 + cell[1].begin) * 40 + cell[2].begin);
    }
    EXPECT_EQ(std::ssize(numbers), wanted);
    EXPECT_EQ(*numbers.begin(), 0);
    EXPECT_EQ(*numbers.rbegin(), 2 * 5 * 40 - 1);
  }
}

TEST(ChooseTasks, FollowTheSeed) {
  const auto second = [](uint64_t seed) {
    return choose_tasks(nest_of_planes(), rows_of_planes, 2, 3 * 40, seed).cells.at(2)[2].begin;
  };
  std::set<int64_t> chosen;
  for (uint64_t seed = 0; seed < 8; ++seed) chosen.insert(second(seed));
  EXPECT_EQ(second(1), second(1));
  EXPECT_GT(chosen.size(), 4U);
}

TEST(Check, LargeLayersAreInterpretedInPart) {
  // 4.4 million taps; the back ends do them all, and the oracle judges them.
  const CheckOptions options = {.schedules = CheckOptions::Schedules::some};
  for (const char* spec :
       {"avg_pool2d(float32[1,240,240], 9, stride=1)", "max_pool2d(uint8[1,240,240], 9, stride=1)"}) {
    const auto report = check(spec, options);
    ASSERT_TRUE(report) << ir::to_string(report.error());
    EXPECT_TRUE(report->ok()) << print(*report);
  }
}

// A nanosecond is over before the first Program, on any machine: the defaults are made all the same.
TEST(Check, ABudgetCutsWhatIsInterpretedAndIsSaid) {
  for (const char* spec :
       {"max_pool2d(float32[2,3,40,40], kernel_size=3, padding=1)",
        "avg_pool2d(uint8[2,24,19,19]:nhwc, kernel_size=5, stride=2)",
        "pools(float32[1,16,19,19], max_pool2d(5, 1, 2), max_pool2d(9, 1, 4), concat=True)"}) {
    const auto cut = check(spec, {.seconds = 1e-9});
    ASSERT_TRUE(cut) << ir::to_string(cut.error());
    EXPECT_TRUE(cut->ok()) << print(*cut);
    EXPECT_EQ(cut->programs, std::ssize(ir::isa_table));
    EXPECT_GT(cut->left_out, 0);
    EXPECT_NE(
        print(*cut).find(fmt::format("    {} of {} Programs", cut->programs, cut->programs + cut->left_out)),
        std::string::npos)
        << print(*cut);
    if (std::string_view(spec).starts_with("pools")) continue;  // which has few tasks
    EXPECT_LT(cut->interpreted, 1);
    EXPECT_NE(print(*cut).find("    interpreted: "), std::string::npos) << print(*cut);
    const auto whole = check(spec, {.schedules = CheckOptions::Schedules::best, .seconds = 1e9});
    ASSERT_TRUE(whole) << ir::to_string(whole.error());
    EXPECT_FALSE(whole->is_partial());
    EXPECT_EQ(print(*whole).find("interpreted:"), std::string::npos) << print(*whole);
  }
}

TEST(CheckBudget, BoundsWhatIsInterpreted) {
  EXPECT_EQ(CheckBudget(std::nullopt).next_taps(), std::numeric_limits<double>::infinity());
  EXPECT_FALSE(CheckBudget(std::nullopt).is_over());
  EXPECT_TRUE(CheckBudget(1e-9).is_over());
  CheckBudget budget(1e9);
  EXPECT_FALSE(budget.is_over());
  EXPECT_GT(budget.next_taps(), 0);
  budget.interpreted(1e9, 1e6);
  EXPECT_EQ(budget.next_taps(), 0) << "it has had more than half";
}

// All elements are their own windows.
TEST(Case, OfAPartOnlyWhatWasWrittenIsJudged) {
  const ir::PoolNest nest = frontend::make_nest(
      *frontend::parse_spec("max_pool2d(float32[1,2,3,3], kernel_size=1, return_indices=True)"));
  auto data = Case::make(nest, DataKind::plain, 1, 1);
  ASSERT_TRUE(data) << ir::to_string(data.error());
  data->clear_outputs(0);
  EXPECT_FALSE(data->objection_to_part(nest, 0));
  const std::span<std::byte> input = data->input.at[0].bytes(), output = data->output.at[0].bytes();
  data->clear_outputs(0);
  std::ranges::copy(input.first(8), output.begin());
  EXPECT_FALSE(data->objection_to_part(nest, 0));
  data->clear_outputs(0);
  std::ranges::copy(input.first(4), output.begin() + 4);
  EXPECT_TRUE(data->objection_to_part(nest, 0));
}

TEST(Check, SaysWhatItDid) {
  const auto report = check("max_pool2d(float32[2,3,9,9], kernel_size=3, padding=1, return_indices=True)");
  ASSERT_TRUE(report) << ir::to_string(report.error());
  EXPECT_TRUE(report->ok()) << print(*report);
  EXPECT_GE(report->programs, 2);
  EXPECT_GE(report->runs, 2 * 4);
  EXPECT_EQ(report->max_batch, 3);
  EXPECT_EQ(print(*report).substr(0, 4), "ok: ");
}

TEST(Check, AWrongSpecIsAnError) {
  const auto report = check("max_pool2d(float32[2,3,9,9], kernel_size=30)");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().id, "spec.output_size");
}

TEST(Check, TensorsTooLargeAreRefusedBeforeMemoryIs) {
  const auto report = check("max_pool2d(float32[1,1024,100000,100000], kernel_size=3)");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().id, "check.size");
}

// What a fuzzer prints for a failure: a spec, how it was run and on what. Text: what the oracle makes of
// given elements.
std::string checked(test::GoldenKeys keys) {
  CheckOptions options = {.data = keys["data"]};
  if (keys.contains("seed")) options.seed = std::stoull(keys["seed"]);
  if (keys.contains("isa")) options.isa = ir::find_isa(keys["isa"]);
  if (keys.contains("backend")) options.backend = find_engine(keys["backend"]);
  if (keys.contains("schedule")) options.schedule = *ir::parse_schedule(keys["schedule"]);
  options.general = keys["general"] == "yes";
  const auto report = check(keys["spec"], options);
  if (!report) return ir::to_string(report.error()) + "\n";
  return report->ok() ? "ok\n" + report->results : report->failure + "\n";
}

TEST(Check, GoldenCases) { test::check_golden("check", checked); }

struct Words {
  ir::DType dtype;
  const char* text;
  std::vector<uint64_t> bits;
};

TEST(Elements, ReadBackAsTheyArePrinted) {
  const Words all[] = {
      {ir::DType::f32, "1 -0 0.1 nan inf", {0x3f800000, 0x80000000, 0x3dcccccd, 0x7fc00000, 0x7f800000}},
      {ir::DType::f32, "0x7fc00001 -nan", {0x7fc00001, 0xffc00000}},
      {ir::DType::f16, "1 65504 0x7e01", {0x3c00, 0x7bff, 0x7e01}},
      {ir::DType::i8, "-128 127", {0x80, 0x7f}},
      {ir::DType::i64, "-9223372036854775808", {uint64_t{1} << 63}},
  };
  for (const Words& words : all) {
    const auto bits = parse_elements(words.dtype, words.text);
    ASSERT_TRUE(bits) << words.text;
    EXPECT_EQ(*bits, words.bits) << words.text;
    std::string printed;
    for (const uint64_t element : *bits)
      printed += (printed.empty() ? "" : " ") + print_element(words.dtype, element);
    EXPECT_EQ(printed, words.text);
  }
}

TEST(Elements, AreRefusedWhereTheDtypeHasNone) {
  for (const char* text : {"", "256", "-1", "1.5", "0x100", "one"}) {
    const auto bits = parse_elements(ir::DType::u8, text);
    ASSERT_FALSE(bits) << text;
    EXPECT_EQ(bits.error().id, "check.data");
  }
}

TEST(Check, DataThatTheDtypeLacksAndSchedulesThatDoNotSuitAreErrors) {
  constexpr const char* spec = "max_pool2d(uint8[1,3,4,4], kernel_size=2)";
  EXPECT_EQ(check(spec, {.data = "range"}).error().id, "check.data");
  CheckOptions options;
  options.schedule = ir::Schedule{.own = ir::ChannelsLastFields{.vectors_side_by_side = 99}, .lanes = 64};
  EXPECT_TRUE(check(spec, options).error().id.starts_with("schedule."));
}

// What is too long for LLVM is run by the others, and the report says so: averages of windows that differ
// along three dimensions, each window straight-line code.
TEST(Check, ProgramsTooLongForLlvmAreNoFailure) {
  if (!is_built(Engine::llvm)) GTEST_SKIP() << "this build lacks LLVM";
  constexpr const char* spec = "adaptive_avg_pool3d(int64[1,1,18,20,309]:nchw8c, output_size=[13,3,15])";
  CheckOptions options = {.isa = ir::Isa::avx2,
                          .schedule = *ir::parse_schedule("channels_first(lanes=4, scan=tap_by_tap)"),
                          .seconds = 1};
  const auto report = check(spec, options);
  ASSERT_TRUE(report) << ir::to_string(report.error());
  EXPECT_TRUE(report->ok()) << print(*report);
  ASSERT_EQ(report->skipped.size(), 1U) << print(*report);
  EXPECT_TRUE(report->skipped[0].starts_with("llvm, avx2 channels_first(lanes=4")) << report->skipped[0];
  // Who asks for that back end and that schedule is told that it cannot.
  options.backend = Engine::llvm;
  const auto refused = check(spec, options);
  ASSERT_FALSE(refused) << print(*refused);
  EXPECT_EQ(refused.error().id, "jit.llvm.size");
}

// Two vectors side by side, of six taps each before they roll: the masks of the NaNs seen take registers too,
// where masks are vectors.
TEST(Check, RollingCountsTheRegistersOfMasks) {
  const auto report = check(
      "max_pool3d(float32[1,15,5,5,20]:nchw16c, kernel_size=[3,2,3], stride=1, padding=[4,3,4], "
      "dilation=[1,2,1])");
  ASSERT_TRUE(report) << ir::to_string(report.error());
  EXPECT_TRUE(report->ok()) << print(*report);
}

// Eight vectors side by side fill the file of AVX2 where an element goes through no register of its own.
TEST(Check, ManyVectorsSideBySideFitTheRegisters) {
  for (const char* spec : {
           "max_pool2d(float32[1,300,8,8]:nhwc, kernel_size=8)",
           "max_pool2d(float32[1,300,30,7]:nhwc, kernel_size=[30,7])",
           "avg_pool2d(float64[1,80,8,9]:nhwc, kernel_size=[7,9], epilogue=[scale_channel, add(float64), "
           "relu])",
           "lp_pool2d(float32[1,300,7,7]:nhwc, norm_type=2, kernel_size=7)",
           "adaptive_max_pool2d(float32[9,5,40], output_size=3, output_layout=nhwc)",
           "avg_pool2d(float32[64,1,8], kernel_size=7, padding=[0,0,3,3], ceil_mode=True, strides=[8,0,1])",
           "avg_pool2d(float64[2,9,9,17], kernel_size=7, stride=4, output_dtype=int64, "
           "strides=[2754,306,34,2])",
       }) {
    const auto report = check(spec);
    ASSERT_TRUE(report) << ir::to_string(report.error());
    EXPECT_TRUE(report->ok()) << print(*report);
  }
}

}  // namespace
}  // namespace pooljit::runtime
