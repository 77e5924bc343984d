// docs/supported.md says what `pooljit list --supported` finds by running. POOLJIT_BLESS=1 rewrites it.
#include "tools/supported.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tools/shell.h"

namespace pooljit::tools {
namespace {

TEST(Supported, TheDocsSayWhatRuns) {
  const std::string path = POOLJIT_SOURCE_DIR "/docs/supported.md";
  const std::string page = test::read_file(path);
  const std::string begin_mark = "<!-- pooljit list --supported -->\n", end_mark = "<!-- end -->";
  const size_t begin = page.find(begin_mark), end = page.find(end_mark);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::string tables = supported_tables();
  EXPECT_EQ(tables.find("WRONG"), std::string::npos);
  const std::string now = page.substr(0, begin + begin_mark.size()) + tables + page.substr(end);
  const char* bless = std::getenv("POOLJIT_BLESS");
  if (now != page && bless && *bless == '1') {
    std::ofstream(path) << now;
    return;
  }
  EXPECT_EQ(now, page) << "if the tables are right, run the test with POOLJIT_BLESS=1";
}

}  // namespace
}  // namespace pooljit::tools
