// `pooljit show` prints what tests/golden/show/*.txt say: the command on the first line, its output below.
// POOLJIT_BLESS=1 rewrites the output.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "jit/backend.h"
#include "tools/shell.h"

namespace pooljit::tools {
namespace {

using test::Outcome;
using test::read_file;
using test::shell;
using test::TempFolder;
using test::write_file;

const std::string folder_of_goldens = POOLJIT_GOLDEN_DIR "/show";

std::set<std::string> goldens() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of_goldens))
    names.insert(entry.path().stem().string());
  return names;
}

class Show : public testing::TestWithParam<std::string> {};

TEST_P(Show, PrintsItsGolden) {
  const std::string path = folder_of_goldens + "/" + GetParam() + ".txt";
  const std::string golden = read_file(path);
  const std::string command = golden.substr(0, golden.find('\n'));
  ASSERT_TRUE(command.starts_with("$ pooljit show ")) << path;
  const TempFolder folder;
  const Outcome outcome = shell("$P" + command.substr(std::string("$ pooljit").size()), folder);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const std::string now = command + "\n" + outcome.out;
  if (std::getenv("POOLJIT_BLESS") != nullptr) write_file(path, now);
  EXPECT_EQ(read_file(path), now) << "if this is meant: POOLJIT_BLESS=1 ctest -R tools.cmd_show";
}

INSTANTIATE_TEST_SUITE_P(Golden, Show, testing::ValuesIn(goldens()),
                         [](const auto& test) { return test.param; });

// What the goldens leave out because it depends on the versions of LLVM and Zydis.
TEST(Show, MachineCodeIsShownForEveryIsaOnAnyMachine) {
  const TempFolder folder;
  const std::string spec = "'max_pool1d(float32[1,16,64]:nhwc, kernel_size=2)'";
  for (const std::string isa : {"avx2", "avx512"})
    for (const jit::BackendInfo& row : jit::backends()) {
      const std::string backend(row.text);
      const Outcome outcome = shell(
          "POOLJIT_MAX_ISA=avx2 $P show " + spec + " --stage asm --isa " + isa + " --backend " + backend,
          folder);
      EXPECT_EQ(outcome.exit, 0) << outcome.err;
      EXPECT_TRUE(outcome.out.starts_with("; pooljit:max_pool1d_f32_nhwc_16x64_k2s2_" + isa + " by " +
                                          backend + "\n"))
          << outcome.out;
      EXPECT_NE(outcome.out.find("vmaxps"), std::string::npos) << outcome.out;
      EXPECT_EQ(outcome.out.find("zmm") != std::string::npos, isa == "avx512") << outcome.out;
    }
}

TEST(Show, FreeDimsHaveOneCode) {
  const TempFolder folder;
  const std::string show = "$P show 'max_pool2d(float32[N,16,H,W]:nhwc, kernel_size=2)' --isa avx2 --stage ";
  const Outcome listing = shell(show + "asm", folder);
  EXPECT_EQ(listing.exit, 0) << listing.err;
  EXPECT_TRUE(listing.out.starts_with("; pooljit:max_pool2d_f32_nhwc_16xany_k2s2_avx2 by xbyak\n"))
      << listing.out;
  const Outcome program = shell(show + "program", folder), sized = shell(show + "program --size 8x8", folder);
  EXPECT_NE(program.out.find("=size"), std::string::npos) << program.out;
  EXPECT_EQ(sized.out.find("=size"), std::string::npos) << sized.out;
  EXPECT_NE(shell(show + "nest", folder).out.find("of any size"), std::string::npos);
}

TEST(Show, AListingBeginsWithTheLayersName) {
  const TempFolder folder;
  const std::string show = "$P show 'max_pool1d(float32[1,16,64], kernel_size=2)' --stage asm --isa avx2 ";
  const Outcome named = shell(show + "--label resnet/pool1", folder);
  ASSERT_EQ(named.exit, 0) << named.err;
  EXPECT_TRUE(named.out.starts_with("; pooljit:resnet/pool1:max_pool1d_f32_nchw_16x64_k2s2_avx2 by "))
      << named.out;
  const Outcome wrong = shell(show + "--label 'a b'", folder);
  EXPECT_EQ(wrong.exit, 3);
  EXPECT_NE(wrong.err.find("runtime.label"), std::string::npos) << wrong.err;
}

TEST(Show, TheModuleOfLlvmIsShownWhereThereIsLlvm) {
  const TempFolder folder;
  const Outcome module =
      shell("$P show 'max_pool1d(float32[1,16,64]:nhwc, kernel_size=2)' --stage llvm", folder);
#ifdef POOLJIT_WITH_LLVM
  EXPECT_EQ(module.exit, 0) << module.err;
  EXPECT_NE(module.out.find("define"), std::string::npos) << module.out;
#else
  EXPECT_EQ(module.exit, 4);
  EXPECT_NE(module.err.find("backend.missing"), std::string::npos) << module.err;
#endif
}

TEST(Show, AScheduleCanBeForced) {
  const TempFolder folder;
  const std::string spec = "'max_pool1d(float32[1,16,64]:nhwc, kernel_size=2)'";
  const Outcome best = shell("$P show " + spec + " --stage schedule", folder);
  ASSERT_EQ(best.exit, 0) << best.err;
  const std::string forced = "channels_last(lanes=1, scan=windows, tap_code=loops, tail=mask)";
  const Outcome shown = shell("$P show " + spec + " --stage schedule --schedule '" + forced + "'", folder);
  EXPECT_EQ(shown.out, forced + "\n") << shown.err;
  EXPECT_NE(shown.out, best.out);
}

TEST(Show, AScheduleCanBeMeasured) {
  const TempFolder folder;
  const std::string show =
      "$P show 'max_pool1d(float32[1,16,64]:nhwc, kernel_size=2)' --stage schedule --measure ";
  const Outcome measured = shell(show + "3", folder);
  ASSERT_EQ(measured.exit, 0) << measured.err;
  EXPECT_NE(measured.out.find("(lanes="), std::string::npos) << measured.out;
  EXPECT_NE(measured.err.find("measured"), std::string::npos) << measured.err;  // or why it was not
  const Outcome wrong = shell(show + "fast", folder);
  EXPECT_EQ(wrong.exit, 3);
  EXPECT_NE(wrong.err.find("runtime.options: measure=fast"), std::string::npos) << wrong.err;
}

TEST(Show, AnEngineWithoutMachineCodeHasNone) {
  const TempFolder folder;
  const Outcome outcome = shell(
      "$P show 'max_pool1d(float32[1,16,64]:nhwc, kernel_size=2)' --stage asm --backend interpreter", folder);
  EXPECT_EQ(outcome.exit, 4) << outcome.err;
  EXPECT_NE(outcome.err.find("backend.missing"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace pooljit::tools
