// `pooljit fuzz`: it finds what is planted, makes it small, and says it so that it can be repeated; it is
// quiet about what is right.
#include <gtest/gtest.h>

#include "tests/fuzz/campaign.h"
#include "tests/tools/shell.h"
#include "tools/fuzz/cause.h"
#include "tools/fuzz/fuzz_case.h"
#include "tools/fuzz/neighbour.h"
#include "tools/fuzz/random_spec.h"
#include "tools/fuzz/shrink.h"

namespace pooljit::fuzz {
namespace {

using test::shell;
using test::TempFolder;

test::Outcome against(const std::string& fault, const std::string& options) {
  const TempFolder folder;
  return shell("$P fuzz --seed 3 --against " + toy(fault) + " --only 'max_pool2d(float32[' " + options,
               folder);
}

// The line behind `heading`.
std::string line_after(const std::string& text, const std::string& heading) {
  const size_t at = text.find(heading);
  if (at == std::string::npos) return "";
  const size_t begin = text.find('\n', at) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(Fuzz, EnginesAgreeAndTheSameSeedDoesTheSame) {
  const TempFolder folder;
  const auto summary = [&](const std::string& options) {
    const test::Outcome outcome = shell("$P fuzz --count 60 " + options, folder);
    EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out.substr(0, outcome.out.rfind(','));  // without the time
  };
  EXPECT_EQ(summary("--seed 5"), summary("--seed 5"));
  EXPECT_NE(summary("--seed 5"), summary("--seed 6"));
  // A drawn schedule may be one that its layer cannot have: such a case is counted apart.
  const std::string narrowed = summary("--engine xbyak --isa avx2");
  EXPECT_NE(narrowed.find("60 cases of seed 1: "), std::string::npos) << narrowed;
  EXPECT_NE(narrowed.find(" agree, 0 differ"), std::string::npos) << narrowed;
}

TEST(Fuzz, ARightEngineAgrees) {
  const test::Outcome outcome = against("right", "--count 300");
  EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find(" 0 differ, 0 differ as accepted"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find(" 0 agree"), std::string::npos) << outcome.out;
}

TEST(Fuzz, ADroppedTapIsFoundShrunkAndRepeated) {
  const test::Outcome outcome = against("dropped_tap", "--count 300 --failures 1");
  EXPECT_EQ(outcome.exit, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("shrunk to max_pool2d(float32[1,"), std::string::npos) << outcome.out;
  EXPECT_LT(line_after(outcome.out, "as a command:").size(), 400U) << outcome.out;
  EXPECT_NE(outcome.out.find("  ---\n  ok\n  output: "), std::string::npos) << outcome.out;
  // The command that it prints shows the failure, and without the other library pooljit is right.
  const TempFolder folder;
  std::string command = line_after(outcome.out, "as a command:");
  command.replace(command.find("pooljit"), 7, "$P");
  EXPECT_EQ(shell(command, folder).exit, 1) << command;
  EXPECT_EQ(shell(command.substr(0, command.find(" --against")), folder).exit, 0) << command;
}

TEST(Fuzz, AKnownDivergenceIsExplained) {
  const test::Outcome outcome = against("nan_ignored", "--count 300");
  EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("nan_ignored: NaN never wins"), std::string::npos) << outcome.out;
}

TEST(Fuzz, ACrashIsAFinding) {
  const test::Outcome outcome = against("stray_write", "--count 300 --failures 1");
  EXPECT_EQ(outcome.exit, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("died of signal 11"), std::string::npos) << outcome.out;
}

TEST(Fuzz, ALibraryThatIsNoneIsAnError) {
  const TempFolder folder;
  const test::Outcome missing = shell("$P fuzz --count 1 --against $T/none.so", folder);
  EXPECT_EQ(missing.exit, 5);
  EXPECT_NE(missing.err.find("fuzz.library"), std::string::npos) << missing.err;
  EXPECT_EQ(shell("$P fuzz --seconds 0", folder).exit, 3);
  EXPECT_EQ(shell("$P fuzz --engine gpu", folder).exit, 3);
}

TEST(Fuzz, OnlyWhatNoLayerHoldsIsAnError) {
  const TempFolder folder;
  const test::Outcome missing = shell("$P fuzz --seconds 60 --only softmax", folder);
  EXPECT_EQ(missing.exit, 4);
  EXPECT_NE(missing.err.find("none of 20000 random layers holds 'softmax'"), std::string::npos)
      << missing.err;
  // No engine is asked about several pools.
  const test::Outcome unasked =
      shell("$P fuzz --seconds 60 --against " + toy("nan_ignored") + " --only 'pools('", folder);
  EXPECT_EQ(unasked.exit, 4) << unasked.out << unasked.err;
}

TEST(Fuzz, CtrlCEndsWithTheSummarySoFar) {
  const TempFolder folder;
  const test::Outcome outcome = test::interrupted("$P fuzz --seconds 600", folder);
  EXPECT_EQ(outcome.exit, 130) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find(" cases of seed 1: "), std::string::npos) << outcome.out;
}

TEST(RandomCase, IsMadeOfItsSeedAlone) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    Draw a(seed), b(seed);
    EXPECT_EQ(random_case(a, {}), random_case(b, {}));
  }
}

TEST(RandomSpec, IsValidAndReadsBack) {
  std::set<std::string> different;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    Draw draw(seed);
    const frontend::PoolSpec spec = random_spec(draw);
    const auto parsed = frontend::parse_spec(print(spec));
    ASSERT_TRUE(parsed) << print(spec);
    EXPECT_EQ(*parsed, spec);
    different.insert(print(spec));
  }
  EXPECT_GT(different.size(), 490U);
}

TEST(RandomSpec, OfNoBytesIsTheSimplest) {
  Draw draw(std::span<const uint8_t>{});
  EXPECT_TRUE(is_small(random_spec(draw)));
}

// What fails is a predicate on the case's texts: what the shrinker must keep, and no more.
TEST(Shrink, KeepsWhatTheFailureNeeds) {
  const FuzzCase failing = {
      .spec =
          "avg_pool3d(bfloat16[3,40,9,17,33]:nhwc, kernel_size=[2,5,3], stride=2, padding=1, "
          "ceil_mode=True, divisor_override=7)",
      .isa = "avx2",
      .backend = "xbyak",
      .schedule =
          "channels_last(lanes=8, vectors_side_by_side=2, scan=windows, tap_code=straight, tail=mask)",
      .seed = 99};
  const FuzzCase smallest = shrink(failing, [](const FuzzCase& one) {
    const auto spec = frontend::parse_spec(one.spec);
    return spec && spec->dtype == ir::DType::bf16 && spec->dims.back().kernel >= 3 && spec->channels > 8;
  });
  EXPECT_EQ(smallest.spec, "avg_pool1d(bfloat16[9,3], kernel_size=3)");
  EXPECT_EQ(smallest.seed, 1U);
}

TEST(Shrink, ShrinksElements) {
  const FuzzCase failing = {.spec = "max_pool1d(float32[2,16], kernel_size=2)", .seed = 7};
  const FuzzCase smallest = shrink(failing, [](const FuzzCase& one) {
    const auto spec = frontend::parse_spec(one.spec);
    if (!spec || spec->channels * spec->dims[0].input < 16) return false;
    return one.data.empty() || one.data == "special" || one.data.find("inf") != std::string::npos;
  });
  EXPECT_EQ(smallest.data.find_first_of("23456789"), std::string::npos) << smallest.data;
  EXPECT_NE(smallest.data.find("inf"), std::string::npos) << smallest.data;
  EXPECT_LT(smallest.data.size(), 40U);
}

// One element is wrong: the layer is cut to it, whichever slices it lay in.
TEST(Shrink, CutsSlicesOutOfTheInput) {
  const FuzzCase failing = {.spec = "max_pool2d(float32[2,3,2,2], kernel_size=1, stride=1)", .seed = 7};
  const FuzzCase smallest = shrink(failing, [&](const FuzzCase& one) {
    const auto spec = frontend::parse_spec(one.spec);
    if (!spec || spec->dims.size() != 2 || spec->dtype != ir::DType::f32) return false;
    if (one.data.empty() || one.data == "special") return one.spec == failing.spec;
    return one.data.find("-inf") != std::string::npos;
  });
  EXPECT_EQ(smallest.data, "-inf") << smallest.spec;
  EXPECT_EQ(smallest.spec, "max_pool2d(float32[1,1,1], kernel_size=1)");
}

// Several pools are cut like one: all have the input.
TEST(Shrink, CutsTheInputOfSeveralPools) {
  const FuzzCase failing = {
      .spec = "pools(float32[2,3,2,2], max_pool2d(1, 1), avg_pool2d(1, 1), concat=True)", .seed = 7};
  const FuzzCase smallest = shrink(failing, [&](const FuzzCase& one) {
    const auto spec = frontend::parse_spec(one.spec);
    if (!spec || spec->members.size() != 2 || spec->dtype != ir::DType::f32) return false;
    if (one.data.empty() || one.data == "special") return one.spec == failing.spec;
    return one.data.find("-inf") != std::string::npos;
  });
  EXPECT_EQ(smallest.data, "-inf") << smallest.spec;
  EXPECT_EQ(smallest.spec, "pools(float32[1,1], max_pool1d(kernel_size=1), avg_pool1d(kernel_size=1))");
}

// A change of the input is one of all pools, as is one of the windows.
TEST(Neighbour, OfSeveralPoolsIsAnotherOfEach) {
  const auto spec =
      frontend::parse_spec("pools(float32[1,3,8,8], max_pool2d(2), avg_pool2d(2, 1), include_input=False)");
  for (const auto& [field, text] :
       {std::pair("channels",
                  "pools(float32[1,4,8,8], max_pool2d(kernel_size=2), avg_pool2d(kernel_size=2, "
                  "stride=1))"),
        std::pair("kernel_size",
                  "pools(float32[1,3,8,8], max_pool2d(kernel_size=[2,1], stride=2), "
                  "avg_pool2d(kernel_size=[2,1], stride=1))"),
        std::pair("layout",
                  "pools(float32[1,3,8,8]:nhwc, max_pool2d(kernel_size=2), "
                  "avg_pool2d(kernel_size=2, stride=1))")}) {
    const auto other = neighbour(*spec, field);
    ASSERT_TRUE(other) << field;
    EXPECT_EQ(print(*other), text);
  }
}

// What findings of one cause have in common, and what tells causes apart.
TEST(Cause, IsWhatFailedAndWhatTheSmallestLayerStillHas) {
  const struct {
    const char *spec, *place, *before;
    Kind kind;
    const char* failure;
    const char* cause;
  } table[] = {
      {"max_pool2d(float32[1,1,4], kernel_size=[1,2], stride=1)", "output [0,0,0,2]", "", Kind::differs, "",
       "differs: max float32; output, last column"},
      {"max_pool2d(float32[3,9,4], kernel_size=[1,2], stride=1)", "output [0,2,7,2]", "", Kind::differs, "",
       "differs: max float32; output, last column"},
      {"max_pool2d(float32[1,1,4], kernel_size=[1,2], stride=1)", "output [0,0,0,0]", "", Kind::differs, "",
       "differs: max float32; output, first column"},
      {"avg_pool2d(uint8[1,1,4], kernel_size=[1,4])", "output [0,0,0,0]", "", Kind::differs, "",
       "differs: avg uint8; output"},
      {"max_pool1d(int8[1,4]:nhwc, kernel_size=2, padding=1, dilation=2, return_indices=True)",
       "index [0,0,1]", "", Kind::differs, "",
       "differs: max int8, padding, dilation, NHWC, indices; index, last column"},
      {"max_pool1d(int8[1,4], kernel_size=2)", "output [0,0,0]", "dilation", Kind::differs, "",
       "differs: max int8, after one with another dilation; output, first column"},
      {"pools(int8[1,4], max_pool1d(2, padding=1, return_indices=True), avg_pool1d(3), min_pool1d(2))", "",
       "", Kind::differs, "", "differs: max beside avg beside min int8, padding, indices"},
      {"max_pool1d(int8[1,4], kernel_size=2)", "", "", Kind::crash,
       "died\nit touched the byte 4 before the input",
       "crash (it touched the byte 4 before the input): max int8"},
  };
  for (const auto& row : table) {
    Outcome outcome = {.verdict = Outcome::Verdict::failed};
    outcome.kind = row.kind, outcome.failure = row.failure, outcome.place = row.place;
    const FuzzCase one = {.spec = row.spec, .before = row.before};
    EXPECT_EQ(cause_of(one, outcome), row.cause);
  }
}

}  // namespace
}  // namespace pooljit::fuzz
