// `pooljit verify`: what it prints, counts and exits with.
#include <gtest/gtest.h>

#include "tools/shell.h"

namespace pooljit::tools {
namespace {

using test::Outcome;
using test::shell;
using test::TempFolder;
using test::write_file;

constexpr const char* good = "max_pool1d(float32[1,3,9], kernel_size=2)";

TEST(Verify, SaysWhatWasProvedForEachEngine) {
  const TempFolder folder;
  const Outcome outcome = shell(std::string("$P verify '") + good + "' --backend xbyak --isa auto", folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  for (const char* part :
       {"proved: max_pool1d", "code  ", "program  ", "outside  ", "value  ", "nan  ", "memory  "})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
}

TEST(Verify, JsonIsALineForEachKernel) {
  const TempFolder folder;
  const Outcome outcome =
      shell(std::string("$P verify '") + good + "' --backend interpreter --isa avx2 --json", folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.out.find("{\""), 0U) << outcome.out;
  EXPECT_NE(outcome.out.find("\"proved\":true"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1) << outcome.out;
}

TEST(Verify, AFileIsSummedUp) {
  const TempFolder folder;
  write_file(folder / "specs.txt",
             std::string(good) + "\nwrong\tmax_pool1d(float32[1,3,9], kernel_size=0)\n");
  const Outcome outcome = shell("$P verify --file $T/specs.txt --backend xbyak --isa avx2", folder);
  EXPECT_EQ(outcome.exit, 3) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out.find("wrong: spec.kernel_size: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("2 of 2 specs: 1 kernels proved, 0 not, 0 specs unsupported, 1 invalid"),
            std::string::npos)
      << outcome.out;
}

}  // namespace
}  // namespace pooljit::tools
