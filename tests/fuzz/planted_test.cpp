// Engines with planted mistakes: `pooljit fuzz --against` finds them in few cases, `pooljit check --against`
// outlives them, and what is accepted is a choice of the user's.
#include <gtest/gtest.h>

#include "tests/fuzz/campaign.h"
#include "tests/tools/shell.h"

namespace pooljit::fuzz {
namespace {

using test::shell;
using test::TempFolder;
using test::write_file;

test::Outcome check(const std::string& fault, const std::string& options) {
  const TempFolder folder;
  return shell("$P check --against " + toy(fault) + " " + options, folder);
}

constexpr const char* layer = "'max_pool2d(float32[1,2,6,6], kernel_size=2)'";

// Without a word of what the engine does: a campaign finds that out.
TEST(Planted, IsFoundInFewCases) {
  const struct {
    const char *fault, *options;
    int cases;
    const char* text;
  } table[] = {
      {"tail_channels", "", 300, "shrunk to max_pool2d(float32["},
      {"reads_before", "", 60, "it touched the byte 4 before the input"},
      {"nan_ignored", "--strict", 60, "as is known, but was not accepted:\n    nan_ignored: "},
      {"one_ulp", "", 400, "kernel_size=[3,2])"},
      {"exits", "", 60, "ended its process"},
      {"hangs", "--case-seconds 0.1", 60, "not done after 0.1 seconds of CPU time"},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(row.fault);
    const TempFolder folder;
    const test::Outcome outcome = shell("$P fuzz --seed 3 --failures 1 --against " + toy(row.fault) +
                                            " --count " + std::to_string(row.cases) + " " + row.options,
                                        folder);
    EXPECT_EQ(outcome.exit, 1) << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find(row.text), std::string::npos) << outcome.out;
  }
}

TEST(Planted, NoCaseIsWastedOnWhatTheEngineDoesNot) {
  for (const char* fault : {"right", "nan_ignored"}) {  // one says what it takes, the other is asked
    SCOPED_TRACE(fault);
    const TempFolder folder;
    const test::Outcome outcome =
        shell("$P fuzz --seed 5 --count 200 --json --against " + toy(fault), folder);
    const auto summary = summary_of(outcome.out);
    EXPECT_LE(summary["not_comparable"], 20) << summary;
    EXPECT_EQ(summary["cases"], 200) << summary;
  }
}

TEST(Planted, TheSameCasesWhateverTheJobs) {
  const auto summary = [](int jobs) {
    const TempFolder folder;
    const test::Outcome outcome = shell("$P fuzz --seed 7 --count 120 --json --axes --against " +
                                            toy("right") + " --jobs " + std::to_string(jobs),
                                        folder);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    auto json = summary_of(outcome.out);
    json.erase("seconds");
    json.erase("next");
    return json;
  };
  const auto one = summary(1);
  EXPECT_EQ(one, summary(3));
  EXPECT_GT(one["coverage"]["axes"]["dtype"]["float32"]["compared"], 80) << one;
  EXPECT_EQ(one["coverage"]["axes"]["dtype"]["float64"]["compared"], 0);
  EXPECT_GT(one["coverage"]["pairs_compared"], 1000);
}

TEST(CheckAgainst, OutlivesTheEngine) {
  const struct {
    const char *fault, *options;
    int exit;
    const char* text;
  } table[] = {
      {"right", "'max_pool2d(float32[1,2,6,6], kernel_size=2)'", 0, "ok: "},
      {"exits", "'max_pool2d(float32[1,2,6,6], kernel_size=2)'", 1, "ended its process"},
      {"stray_write", "'max_pool2d(float32[1,2,6,6], kernel_size=2)' --strict", 1, "behind the output"},
      {"reads_before", "'max_pool2d(float32[1,2,6,6], kernel_size=2)' --strict", 1, "before the input"},
      {"hangs", "'max_pool2d(float32[1,2,6,6], kernel_size=2, stride=3)' --case-seconds 0.2", 1,
       "not done after 0.2 seconds of CPU time"},
      {"errors", "'max_pool2d(float32[1,2,6,6], kernel_size=2, stride=3)' --strict", 1,
       "no plan for a stride of 3"},
      {"errors", "'max_pool2d(float32[1,2,6,6], kernel_size=2)' --strict", 0, "ok: "},
      {"stale_plan", "'max_pool2d(float32[1,1,1,3], kernel_size=[1,2], stride=1)' --strict", 0, "ok: "},
      {"stale_plan",
       "'max_pool2d(float32[1,1,1,3], kernel_size=[1,2], stride=1)' --strict --before dilation_and_padding",
       1, "the reference says"},
      {"right",
       "'max_pool2d(float32[1,1,1,3], kernel_size=[1,2], stride=1)' --strict --before dilation_and_padding",
       0, "ok: "},
      {"right", "'max_pool2d(float32[1,2,6,6], kernel_size=0)'", 3, ""},
      {"right", "'max_pool2d(float32[1,2,6,6], kernel_size=2)' --data 'x'", 3, ""},
      {"right", "'avg_pool2d(float32[1,2,6,6], kernel_size=2)'", 4, ""},
      {"right", "'max_pool2d(float32[1,2,6,6], kernel_size=2)' --allow nonsense", 3, ""},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(std::string(row.fault) + " " + row.options);
    const test::Outcome outcome = check(row.fault, row.options);
    EXPECT_EQ(outcome.exit, row.exit) << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find(row.text), std::string::npos) << outcome.out;
  }
}

TEST(CheckAgainst, AFileIsSummedUp) {
  const TempFolder folder;
  write_file(folder / "specs",
             "a\tmax_pool2d(float32[1,2,6,6], kernel_size=2)\n"
             "b\tmax_pool2d(float32[1,2,6,6], kernel_size=2, stride=3)\n"
             "c\tavg_pool2d(float32[1,2,6,6], kernel_size=2)\n");
  const test::Outcome outcome =
      shell("$P check --file $T/specs --case-seconds 3 --against " + toy("hangs"), folder);
  EXPECT_EQ(outcome.exit, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("3 of 3 specs: 1 agree (0 of them differ as accepted), 1 differ, 1 unsupported"),
            std::string::npos)
      << outcome.out;
}

// Exit codes of a check on data where the engine loses a NaN, by what is accepted.
TEST(Accepted, IsWhatTheUserNames) {
  const struct {
    const char *options, *known;
    int exit;
  } table[] = {
      {"", "", 0},
      {"--strict", "", 1},
      {"--strict --allow nan_ignored", "", 0},
      {"--allow nan_ignored", "", 0},
      {"--allow nan_any", "", 0},  // forgives it as well
      {"--strict --known $T/known", "nan_ignored\tmax_pool3d*\tmaxps\n", 1},
      {"--allow nan_index,empty_window", "", 1},
      {"--known $T/known", "nan_ignored\tmax_pool2d(float32[*\tmaxps\n", 0},
      {"--known $T/known", "# ours\n\nnan_ignored\t*\tmaxps\n", 0},
      {"--known $T/known", "nan_ignored\tmax_pool3d*\tmaxps\n", 0},  // its rule, besides
      {"--strict --known $T/known", "nan_ignored\tmax_pool2d(float32[*\tmaxps\n", 0},
      {"--strict --known $T/known", "nan_ignored\tmax_pool2d(float32[* !*kernel_size=3*\tmaxps\n", 0},
      {"--strict --known $T/known", "nan_ignored\t* !*stride=* !*kernel_size=2*\tmaxps\n", 1},
      {"--known $T/known", "inconsistent\t*\twhatever\n", 3},
      {"--known $T/known", "inconsistent:nan_any\t*\tno result shows that\n", 3},
      {"--known $T/known", "inconsistent:nan_ignored\t*\ta tail\n", 0},
      {"--strict --allow rolling_sum", "", 1},
      {"--known $T/known", "nan_ignored\t*\n", 3},
      {"--known $T/known", "nan_ignored\t*\t \n", 3},
      {"--known $T/known", "nonsense\t*\tmaxps\n", 3},
      {"--known $T/none", "", 5},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(std::string(row.options) + " " + row.known);
    const TempFolder folder;
    write_file(folder / "known", row.known);
    const test::Outcome outcome = shell("$P check " + std::string(layer) + " --data 'nan 1' --against " +
                                            toy("nan_ignored") + " " + row.options,
                                        folder);
    EXPECT_EQ(outcome.exit, row.exit) << outcome.out << outcome.err;
  }
}

TEST(Accepted, CrashesCanBeToo) {
  EXPECT_EQ(check("reads_before", std::string(layer) + " --allow crash").exit, 0);
  EXPECT_EQ(check("exits", std::string(layer) + " --allow crash").exit, 1);
}

TEST(Accepted, IsSummedUpWithItsReason) {
  const TempFolder folder;
  write_file(folder / "known", "nan_ignored\t*max_pool2d(float32[*\tour kernels use maxps\n");
  const test::Outcome outcome =
      shell("$P fuzz --seed 3 --count 40 --strict --known $T/known --against " + toy("nan_ignored"), folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("because: our kernels use maxps"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace pooljit::fuzz
