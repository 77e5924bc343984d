// `pooljit verify`: what it prints, counts and exits with.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>

#include "tools/shell.h"

namespace pooljit::tools {
namespace {

using test::Outcome;
using test::shell;
using test::TempFolder;
using test::write_file;

// Kernels are probed in child processes, which several threads make at once. Where another thread allocates
// at the moment of a fork, the allocator of GCC's AddressSanitizer leaves the child a lock that nobody holds;
// glibc's does not.
int threads(int wanted) {
#ifdef __SANITIZE_ADDRESS__
  std::printf("one thread for %d: this AddressSanitizer's allocator does not outlive a fork beside others\n",
              wanted);
  return 1;
#else
  return wanted;
#endif
}

constexpr const char* good_layer = "max_pool1d(float32[1,3,9], kernel_size=2)";

TEST(Verify, SaysWhatWasProvedForEachEngine) {
  const TempFolder folder;
  const Outcome outcome =
      shell(std::string("$P verify '") + good_layer + "' --backend xbyak --isa auto", folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  for (const char* part :
       {"proved: max_pool1d", "code  ", "program  ", "outside  ", "value  ", "nan  ", "memory  "})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
}

TEST(Verify, OfFreeDimsTheCodeForAllSizesIsProvedAtSome) {
  const TempFolder folder;
  const Outcome outcome =
      shell("$P verify 'max_pool1d(float32[1,3,L]:nwc, kernel_size=3, padding=1)' --backend xbyak --isa auto",
            folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  // One output with borders at both ends, a border at one, whole windows.
  EXPECT_NE(outcome.out.find(": 1 2 "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("proved: max_pool1d(float32[1,3,L]"), std::string::npos) << outcome.out;
}

TEST(Verify, JsonIsALineForEachKernel) {
  const TempFolder folder;
  const Outcome outcome =
      shell(std::string("$P verify '") + good_layer + "' --backend interpreter --isa avx2 --json", folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.out.find("{\""), 0U) << outcome.out;
  EXPECT_NE(outcome.out.find("\"proved\":true"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1) << outcome.out;
}

// A row of 9 outputs can be done by more than one family; code for all sizes in several orders.
TEST(Verify, AllSchedulesAreProvedOneByOne) {
  const TempFolder folder;
  const std::string one = "$P verify --file $T/specs.txt --backend xbyak --isa avx2 --json ";
  for (const char* layer : {good_layer, "max_pool1d(float32[1,3,L], kernel_size=2)",
                            "pools(float32[1,9,L]:nwc, max_pool1d(kernel_size=2, stride=1), "
                            "avg_pool1d(kernel_size=3))"}) {
    SCOPED_TRACE(layer);
    write_file(folder / "specs.txt", std::string(layer) + "\n");
    const auto kernels = [&](const std::string& options) {
      const Outcome outcome = shell(one + options, folder);
      EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
      std::set<std::string> schedules;
      const std::string key = "\"schedule\":\"";
      for (size_t at = outcome.out.find(key); at != std::string::npos; at = outcome.out.find(key, at + 1))
        schedules.insert(outcome.out.substr(at, outcome.out.find('"', at + key.size()) - at));
      return schedules;
    };
    const auto best = kernels(""), all = kernels("--schedules all");
    EXPECT_EQ(best.size(), 1U);
    EXPECT_GE(all.size(), 2U);
    EXPECT_TRUE(all.contains(*best.begin()));
    EXPECT_EQ(kernels("--schedules best"), best);
  }
  EXPECT_EQ(shell(one + "--schedules some", folder).exit, 2);
}

TEST(Verify, WhereEachSizeHasItsOwnCodeItSaysSo) {
  const TempFolder folder;
  for (const char* options : {"", " --schedules all"}) {
    const Outcome outcome =
        shell(std::string("$P verify 'max_unpool1d(float32[1,3,L], kernel_size=2)'") + options, folder);
    EXPECT_EQ(outcome.exit, 4) << outcome.out << outcome.err;
    EXPECT_NE(outcome.err.find("general.unsupported"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("--size"), std::string::npos) << outcome.err;
  }
}

TEST(Verify, AFileIsSummedUp) {
  const TempFolder folder;
  write_file(folder / "specs.txt",
             std::string(good_layer) + "\nwrong\tmax_pool1d(float32[1,3,9], kernel_size=0)\n");
  const Outcome outcome = shell("$P verify --file $T/specs.txt --backend xbyak --isa avx2", folder);
  EXPECT_EQ(outcome.exit, 3) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out.find("wrong: spec.kernel_size: "), std::string::npos) << outcome.out;
  EXPECT_NE(
      outcome.out.find(
          "2 of 2 specs: 1 kernels proved, 0 for a smaller tensor, 0 not, 0 specs unsupported, 1 invalid"),
      std::string::npos)
      << outcome.out;
}

TEST(Verify, LimitSaysWhatIsProbedSmaller) {
  const TempFolder folder;
  const std::string large =
      "$P verify 'max_pool2d(float32[1,64,300,300], kernel_size=3)' --backend xbyak --isa avx2 ";
  const Outcome smaller = shell(large + "--limit 3e7", folder);
  EXPECT_EQ(smaller.exit, 6) << smaller.out << smaller.err;
  EXPECT_EQ(smaller.out.find("proved for a smaller tensor: "), 0U) << smaller.out;
  EXPECT_NE(smaller.out.find("what was executed and probed is max_pool2d("), std::string::npos)
      << smaller.out;
  EXPECT_EQ(shell(large + "--limit 3e7 --allow-smaller", folder).exit, 0);
  const Outcome none = shell(large + "--limit 10", folder);
  EXPECT_EQ(none.exit, 4) << none.out << none.err;
  EXPECT_NE(none.err.find("prove.size"), std::string::npos) << none.err;
}

TEST(Verify, AFileIsProvedByThreads) {
  const TempFolder folder;
  std::string many;
  for (int i = 0; i < 12; ++i) many += "max_pool1d(float32[1,3,9], kernel_size=2)\n";
  write_file(folder / "specs.txt", many);
  const Outcome outcome = shell(
      "$P verify --file $T/specs.txt --isa auto --backend xbyak --threads " + std::to_string(threads(3)),
      folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  EXPECT_NE(
      outcome.out.find(
          "12 of 12 specs: 12 kernels proved, 0 for a smaller tensor, 0 not, 0 specs unsupported, 0 invalid"),
      std::string::npos)
      << outcome.out;
}

TEST(Verify, CtrlCEndsWithTheSummarySoFar) {
  const TempFolder folder;
  std::string many;
  for (int i = 0; i < 10000; ++i) many += "max_pool2d(float32[1,16,40,40], kernel_size=5)\n";
  write_file(folder / "specs.txt", many);
  const Outcome outcome =
      test::interrupted("$P verify --file $T/specs.txt --threads " + std::to_string(threads(2)), folder);
  EXPECT_EQ(outcome.exit, 130) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find(" of 10000 specs: "), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace pooljit::tools
