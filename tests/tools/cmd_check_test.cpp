// `pooljit check`: what it counts, how it ends, and that Ctrl-C ends it with a summary. That differences are
// found is the business of the library's own tests.
#include <gtest/gtest.h>

#include "tools/shell.h"

namespace pooljit::tools {
namespace {

using test::Outcome;
using test::shell;
using test::TempFolder;
using test::write_file;

constexpr const char* good = "max_pool1d(float32[1,3,9], kernel_size=2)";
constexpr const char* unsupported = "F.fractional_max_pool2d(float32[1,3,9,9], 2)";
constexpr const char* invalid = "max_pool1d(float32[1,3,9], kernel_size=0)";

Outcome check_file(const TempFolder& folder, const std::string& content, const std::string& options = "") {
  write_file(folder / "specs.txt", content);
  return shell("$P check --file $T/specs.txt " + options, folder);
}

TEST(Check, OneSpecIsOneLine) {
  const TempFolder folder;
  const Outcome outcome = shell(std::string("$P check '") + good + "' --seed 3", folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("max_pool1d"), std::string::npos) << outcome.out;
}

TEST(Check, WhatThereIsNoTimeForIsSaid) {
  const TempFolder folder;
  const std::string large = "'max_pool2d(float32[2,8,40,40], kernel_size=3)'";
  const Outcome cut = shell("$P check --seconds 1e-9 " + large, folder);
  EXPECT_EQ(cut.exit, 0) << cut.out << cut.err;
  EXPECT_NE(cut.out.find("    interpreted: "), std::string::npos) << cut.out;
  EXPECT_NE(cut.out.find("--all does everything"), std::string::npos) << cut.out;
  const Outcome all = shell("$P check --all --isa avx2 --data ties " + large, folder);
  EXPECT_EQ(all.exit, 0) << all.out << all.err;
  EXPECT_EQ(all.out.find("interpreted:"), std::string::npos) << all.out;
  EXPECT_EQ(shell("$P check --all --seconds 3 " + large, folder).exit, 2);
  EXPECT_EQ(shell("$P check --all --schedules best " + large, folder).exit, 2);
  write_file(folder / "specs.txt", "max_pool2d(float32[2,8,40,40], kernel_size=3)\n");
  EXPECT_NE(shell("$P check --seconds 1e-9 --file $T/specs.txt", folder).out.find("in part: 1 specs"),
            std::string::npos);
}

TEST(Check, AFileIsSummedUpAndQuietInAPipe) {
  const TempFolder folder;
  const Outcome outcome = check_file(folder, std::string("a\t") + good + "\n# c\n" + good + "\n");
  EXPECT_EQ(outcome.exit, 0) << outcome.out;
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(outcome.out.find("2 of 2 specs: 2 agree, 0 differ, 0 unsupported, 0 invalid, 0 failed") !=
              std::string::npos)
      << outcome.out;
}

TEST(Check, UnsupportedSpecsAreNamedCountedAndNoSuccess) {
  const TempFolder folder;
  const std::string content = std::string("global\t") + unsupported + "\n" + good + "\n";
  const Outcome strict = check_file(folder, content);
  EXPECT_EQ(strict.exit, 4) << strict.out;
  EXPECT_NE(strict.out.find("global: spec.unsupported_op: "), std::string::npos) << strict.out;
  EXPECT_NE(strict.out.find("1 agree, 0 differ, 1 unsupported"), std::string::npos) << strict.out;
  EXPECT_EQ(check_file(folder, content, "--allow-unsupported").exit, 0);
}

TEST(Check, AnInvalidSpecWeighsMoreThanAnUnsupportedOne) {
  const TempFolder folder;
  const Outcome outcome =
      check_file(folder, std::string(unsupported) + "\n" + invalid + "\n", "--allow-unsupported");
  EXPECT_EQ(outcome.exit, 3) << outcome.out;
  EXPECT_NE(outcome.out.find("line 2: spec.kernel_size: "), std::string::npos) << outcome.out;
}

TEST(Check, CtrlCEndsWithTheSummarySoFar) {
  const TempFolder folder;
  std::string many;
  for (int i = 0; i < 10000; ++i) many += "max_pool2d(float32[1,16,40,40], kernel_size=3, padding=1)\n";
  write_file(folder / "specs.txt", many);
  const Outcome outcome = test::interrupted("$P check --file $T/specs.txt", folder);
  EXPECT_EQ(outcome.exit, 130) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find(" of 10000 specs: "), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace pooljit::tools
