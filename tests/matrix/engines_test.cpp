// The generated matrix through check(): all engines, both ISAs, all schedules. Of the matrix the specs that
// add something: each pair of settings twice. scripts/sweep has all of it and more. A test is a block
// of specs, so that ctest can spread them over processes (GTEST_TOTAL_SHARDS).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lab/check.h"
#include "lab/crash_context.h"
#include "tests/matrix/specs.h"

namespace pooljit {
namespace {

constexpr size_t blocks = 60;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t step = 4;  // sanitizers are slow, and what they look for does not hide in one spec of many
#else
constexpr size_t step = 1;
#endif

const std::vector<std::string>& specs() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> all;
    for (const tests::MatrixSpec& row : tests::pairs_of_matrix(2)) all.push_back(print(row.spec));
    for (std::string& text : tests::long_row_specs(160)) all.push_back(std::move(text));
    for (std::string& text : tests::pools_specs(160)) all.push_back(std::move(text));
    return all;
  }();
  return texts;
}

class Matrix : public testing::TestWithParam<size_t> {
 protected:
  static void SetUpTestSuite() { runtime::report_crashes(); }
};
INSTANTIATE_TEST_SUITE_P(Block, Matrix, testing::Range<size_t>(0, blocks));

TEST_P(Matrix, AllEnginesAgree) {
  int64_t runs = 0;
  for (size_t i = GetParam() * step; i < specs().size(); i += blocks * step) {
    const auto report =
        runtime::check(specs()[i], {.seed = i + 1, .schedules = runtime::CheckOptions::Schedules::some});
    ASSERT_TRUE(report) << specs()[i] << "\n" << ir::to_string(report.error());
    EXPECT_TRUE(report->ok()) << runtime::print(*report);
    runs += report->runs;
  }
  RecordProperty("runs", std::to_string(runs));
  EXPECT_GT(runs, 0);
}

}  // namespace
}  // namespace pooljit
