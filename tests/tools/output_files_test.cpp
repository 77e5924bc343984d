// Output files: whole or not at all, all or none, and refused before any work is done.
#include "tools/output_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tools/temp_folder.h"

namespace pooljit::tools {
namespace {

using test::read_file;
using test::TempFolder;
using test::write_file;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(OutputFiles, AppearAtCommitAndNotBefore) {
  const TempFolder folder;
  OutputFiles files;
  const auto y = files.add(folder / "y"), i = files.add(folder / "i");
  ASSERT_TRUE(y && i);
  ASSERT_TRUE(files.write(*y, bytes_of("half ")));
  ASSERT_TRUE(files.write(*y, bytes_of("whole")));
  ASSERT_TRUE(files.write(*i, bytes_of("indices")));
  EXPECT_FALSE(std::filesystem::exists(folder / "y"));
  ASSERT_TRUE(files.commit());
  EXPECT_EQ(read_file(folder / "y"), "half whole");
  EXPECT_EQ(read_file(folder / "i"), "indices");
  EXPECT_EQ(folder.names().size(), 2u);
}

TEST(OutputFiles, NothingStaysWithoutCommit) {
  const TempFolder folder;
  write_file(folder / "y", "old");
  {
    OutputFiles files;
    const auto y = files.add(folder / "y");
    ASSERT_TRUE(y);
    ASSERT_TRUE(files.write(*y, bytes_of("new")));
  }
  EXPECT_EQ(read_file(folder / "y"), "old");
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST(OutputFiles, ALinkIsFollowedAndPermissionsAreUsual) {
  const TempFolder folder;
  write_file(folder / "target", "old");
  std::filesystem::create_symlink("target", folder / "link");
  OutputFiles files;
  ASSERT_TRUE(files.add(folder / "link"));
  ASSERT_TRUE(files.commit());
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  struct stat info = {};
  ASSERT_EQ(stat((folder / "target").c_str(), &info), 0);
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(info.st_mode & 0777u, 0666u & ~mask);
}

TEST(OutputFiles, TakeTheModeOfWhatTheyReplace) {
  const TempFolder folder;
  write_file(folder / "secret", "old");
  ASSERT_EQ(chmod((folder / "secret").c_str(), 0600), 0);
  OutputFiles files;
  ASSERT_TRUE(files.add(folder / "secret"));
  ASSERT_TRUE(files.commit());
  struct stat info = {};
  ASSERT_EQ(stat((folder / "secret").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST(OutputFiles, ALinkToWhatIsNotThereYetStaysOne) {
  const TempFolder folder;
  std::filesystem::create_symlink("later", folder / "link");
  OutputFiles files;
  const auto y = files.add(folder / "link");
  ASSERT_TRUE(y);
  ASSERT_TRUE(files.write(*y, bytes_of("new")));
  ASSERT_TRUE(files.commit());
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "later"), "new");
}

TEST(OutputFiles, TwoAreWrittenSideBySide) {
  const TempFolder folder;
  {
    OutputFiles first, second;
    const auto a = first.add(folder / "y"), b = second.add(folder / "y");
    ASSERT_TRUE(a && b);
    ASSERT_TRUE(first.write(*a, bytes_of("first")));
    ASSERT_TRUE(second.write(*b, bytes_of("second")));
    ASSERT_TRUE(second.commit());
    ASSERT_TRUE(first.commit());
  }
  EXPECT_EQ(read_file(folder / "y"), "first");
  EXPECT_EQ(folder.names().size(), 1u);
}

// No test here depends on permissions, which root does not feel.
TEST(OutputFiles, UnwritablePathsAreRefusedAtOnce) {
  const TempFolder folder;
  write_file(folder / "file", "");
  const struct {
    std::string path, id;
  } rows[] = {
      {folder / "missing/y", "file.create"},
      {folder / "file/y", "file.create"},
      {"/proc/y", "file.create"},
      {folder.path(), "file.kind"},
      {"/dev/null", "file.kind"},
      {folder / std::string(300, 'x'), "file.create"},
  };
  for (const auto& row : rows) {
    OutputFiles files;
    const auto file = files.add(row.path);
    ASSERT_FALSE(file) << row.path;
    EXPECT_EQ(file.error().id, row.id) << row.path;
  }
}

TEST(OutputFiles, OneFileCannotBeTwoOutputs) {
  const TempFolder folder;
  OutputFiles files;
  ASSERT_TRUE(files.add(folder / "y"));
  EXPECT_EQ(files.add(folder.path() + "/./y").error().id, "file.same");
}

TEST(OutputFiles, ARefusedRenameLeavesNeither) {
  const TempFolder folder;
  {
    OutputFiles files;
    ASSERT_TRUE(files.add(folder / "y"));
    ASSERT_TRUE(files.add(folder / "i"));
    std::filesystem::create_directory(folder / "i");
    EXPECT_EQ(files.commit().error().id, "file.rename");
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"i"});
}

}  // namespace
}  // namespace pooljit::tools
