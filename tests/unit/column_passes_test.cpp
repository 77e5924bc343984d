// ColumnPasses: by doing the passes on counts, every window from exactly its columns; nothing is read that
// was not written.
#include "ir/schedules/windows/column_passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace pooljit::ir {
namespace {

constexpr int lanes = 8;

// How often each column was taken; nothing: never written.
using Number = std::optional<std::vector<int>>;

Number joined(const Number& a, const Number& b) {
  if (!a || !b) return std::nullopt;
  std::vector<int> both = *a;
  for (size_t i = 0; i < both.size(); ++i) both[i] += (*b)[i];
  return both;
}

void check(int64_t kernel, int64_t dilation, bool idempotent, std::optional<int> doublings = {}) {
  SCOPED_TRACE(testing::Message() << "kernel " << kernel << ", dilation " << dilation);
  const NestDim dim{.input = 1, .output = 19, .kernel = kernel, .dilation = dilation};
  const int64_t windows = 3 * lanes;
  const ColumnPasses plan(dim, windows, lanes, idempotent, doublings);
  std::vector<std::vector<Number>> lines(plan.lines(),
                                         std::vector<Number>(static_cast<size_t>(plan.positions())));
  const auto columns = static_cast<size_t>(plan.positions());
  for (size_t i = 0; i < columns; ++i) lines[0][i].emplace(columns, 0), (*lines[0][i])[i] = 1;
  for (const ColumnPasses::Pass& pass : plan.passes())
    for (int64_t vector = 0; vector < pass.vectors; ++vector) {
      std::vector<Number> sums;
      for (int64_t i = vector * lanes; i < (vector + 1) * lanes; ++i)
        sums.push_back(joined(lines[pass.from].at(static_cast<size_t>(i)),
                              lines[pass.from].at(static_cast<size_t>(i + pass.offset))));
      std::copy(sums.begin(), sums.end(), lines[pass.to].begin() + vector * lanes);
    }
  for (int64_t window = 0; window < windows; ++window) {
    Number all = std::vector<int>(columns, 0);
    for (const ColumnPasses::Term& term : plan.terms())
      all = joined(all, lines[term.line].at(static_cast<size_t>(window + term.offset)));
    ASSERT_TRUE(all) << "window " << window << " reads what was not written";
    for (int64_t column = 0; column < plan.positions(); ++column) {
      const int64_t tap = (column - window) / dilation;
      const bool is_tap = column >= window && (column - window) % dilation == 0 && tap < kernel;
      const int times = (*all)[static_cast<size_t>(column)];
      EXPECT_EQ(times > 0, is_tap) << "window " << window << ", column " << column;
      EXPECT_TRUE(idempotent || times <= 1) << "window " << window << ", column " << column;
    }
  }
}

TEST(ColumnPasses, EveryWindowIsMadeOfItsColumns) {
  for (const bool idempotent : {false, true})
    for (int64_t kernel = 2; kernel <= 70; ++kernel)
      for (const int64_t dilation : {1, 3, 8}) check(kernel, dilation, idempotent);
}

TEST(ColumnPasses, OfSoManyDoublings) {
  for (const int64_t kernel : {2, 4, 6, 7, 16, 31})
    for (int doublings = 0; int64_t{1} << doublings <= kernel; ++doublings) {
      check(kernel, 3, false, doublings);
      const ColumnPasses plan({.output = 64, .kernel = kernel}, 64, lanes, false, doublings);
      EXPECT_EQ(plan.passes().size(), static_cast<size_t>(doublings));
      for (const ColumnPasses::Pass& pass : plan.passes()) EXPECT_NE(pass.to, 0U) << "the columns are kept";
    }
}

TEST(ColumnPasses, StepsGrowWithTheLogarithm) {
  const auto steps = [](int64_t kernel, bool idempotent) {
    const ColumnPasses plan({.output = 64, .kernel = kernel}, 64, lanes, idempotent);
    return 3 * plan.passes().size() + plan.terms().size();
  };
  EXPECT_EQ(steps(3, true), 3U);
  EXPECT_EQ(steps(31, true), 13U);
  EXPECT_EQ(steps(31, false), 15U);
  EXPECT_LE(steps(1000, true), 32U);
}

}  // namespace
}  // namespace pooljit::ir
