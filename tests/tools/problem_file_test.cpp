// Problem files, and the ones that the repository keeps.
#include "tools/problem_file.h"

#include <gtest/gtest.h>

#include "tools/temp_folder.h"

namespace pooljit::tools {
namespace {

using test::TempFolder;
using test::write_file;

TEST(ProblemFile, NamesCommentsAndLineEnds) {
  const TempFolder folder;
  write_file(folder / "p.txt",
             "# comment\n\nnet/a\tmax_pool1d(a b)\r\n  avg_pool1d(x)  \n \t \nlast\t y\tof two + nodes");
  const auto problems = read_problems(folder / "p.txt");
  ASSERT_TRUE(problems);
  ASSERT_EQ(problems->size(), 3u);
  EXPECT_EQ((*problems)[0].name, "net/a");
  EXPECT_EQ((*problems)[0].spec, "max_pool1d(a b)");
  EXPECT_EQ((*problems)[1].name, "line 4");
  EXPECT_EQ((*problems)[1].spec, "avg_pool1d(x)");
  EXPECT_EQ((*problems)[2].name, "last");
  EXPECT_EQ((*problems)[2].spec, "y");
}

TEST(ProblemFile, NothingToDoIsAnError) {
  const TempFolder folder;
  write_file(folder / "p.txt", "# only a comment\n");
  EXPECT_EQ(read_problems(folder / "p.txt").error().id, "problems.empty");
  EXPECT_EQ(read_problems(folder / "missing").error().id, "file.open");
  EXPECT_EQ(read_problems(folder.path()).error().id, "file.read");
}

TEST(ProblemFile, TheRepositorysFilesAreRead) {
  for (const auto& [file, count] :
       {std::pair("networks.txt", 65), std::pair("benchdnn.txt", 234), std::pair("pairs.txt", 20)}) {
    const auto problems = read_problems(std::string(POOLJIT_SOURCE_DIR "/bench/problems/") + file);
    ASSERT_TRUE(problems) << file;
    EXPECT_EQ(problems->size(), static_cast<size_t>(count)) << file;
  }
}

}  // namespace
}  // namespace pooljit::tools
