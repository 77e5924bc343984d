// The main of a folder's test program. `unit_tests nest` runs what tests/unit/nest_test.cpp defines, and
// `unit_tests` all. A --gtest_filter comes before a topic: death tests give one to the process that dies.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

// The names of all tests of a topic as a filter; empty where it has none.
std::string filter_of(std::string_view topic) {
  const std::string file = "/" + std::string(topic) + "_test.cpp";
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  std::string filter;
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      if (!std::string_view(test.file()).ends_with(file)) continue;
      if (!filter.empty()) filter += ':';
      filter.append(suite.name()).append(".").append(test.name());
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 2) {
    std::fprintf(stderr, "one topic, please; for single tests there is --gtest_filter\n");
    return 2;
  }
  if (argc == 2) {
    const std::string filter = filter_of(argv[1]);
    if (filter.empty()) {
      std::fprintf(stderr, "no test is of the topic \"%s\": there is no %s_test.cpp here\n", argv[1],
                   argv[1]);
      return 2;
    }
    if (GTEST_FLAG_GET(filter) == "*") GTEST_FLAG_SET(filter, filter);
  }
  return RUN_ALL_TESTS();
}
