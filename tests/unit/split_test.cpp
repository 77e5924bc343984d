// How tasks are cut among threads.
#include "runtime/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace pooljit::runtime {
namespace {

int64_t volume(const TaskRanges& ranges, size_t dims) {
  int64_t product = 1;
  for (size_t d = 0; d < dims; ++d) product *= ranges[d].count;
  return product;
}

const std::vector<std::vector<int64_t>> extent_lists = {
    {},           {1},        {7},       {1, 64, 56}, {3, 64},      {2, 3, 5},
    {1, 1, 1, 1}, {6, 1, 17}, {1000, 3}, {1, 1, 3},   {5, 7, 2, 3}, {1 << 30, 1 << 30},
};

TEST(Grid, EachTaskIsInExactlyOneCell) {
  for (const auto& extents : extent_lists) {
    if (!extents.empty() && extents[0] > 1000) continue;
    for (int threads = 1; threads <= 9; ++threads) {
      const Grid grid(extents, threads);
      int64_t tasks = 1;
      for (int64_t extent : extents) tasks *= extent;
      std::vector<int> seen(static_cast<size_t>(tasks), 0);
      for (int64_t cell = 0; cell < grid.cells(); ++cell) {
        const TaskRanges ranges = grid.ranges(cell);
        for (int64_t i = 0; i < volume(ranges, extents.size()); ++i) {
          int64_t rest = i, task = 0, scale = 1;
          for (size_t d = extents.size(); d-- > 0;) {
            task += (ranges[d].begin + rest % ranges[d].count) * scale;
            rest /= ranges[d].count;
            scale *= extents[d];
          }
          ++seen[static_cast<size_t>(task)];
        }
      }
      EXPECT_TRUE(std::ranges::all_of(seen, [](int times) { return times == 1; })) << threads;
    }
  }
}

TEST(Grid, ThreadsGetNearlyEqualWork) {
  for (const auto& extents : extent_lists)
    for (int threads = 1; threads <= 9; ++threads) {
      const Grid grid(extents, threads);
      std::vector<int64_t> work(static_cast<size_t>(threads), 0);
      double tasks = 1;
      for (int64_t extent : extents) tasks *= double(extent);
      if (tasks < 16 * threads) continue;  // too few to be fair
      for (int64_t cell = 0; cell < grid.cells(); ++cell)
        *std::ranges::min_element(work) += volume(grid.ranges(cell), extents.size());
      EXPECT_LE(double(*std::ranges::max_element(work)), 1.5 * tasks / threads)
          << threads << " threads, first extent " << extents[0];
    }
}

TEST(Grid, OneThreadGetsAllInOnePiece) {
  for (const auto& extents : extent_lists) EXPECT_EQ(Grid(extents, 1).cells(), 1);
}

TEST(Grid, ManyTasksMakeNoMoreCellsThanThreads) {
  EXPECT_EQ(Grid(std::vector<int64_t>{1000, 3}, 4).cells(), 4);
  EXPECT_EQ(Grid(std::vector<int64_t>{1, 64, 56}, 2).cells(), 2);
  EXPECT_EQ(Grid(std::vector<int64_t>{3, 64}, 2).cells(), 6);
}

}  // namespace
}  // namespace pooljit::runtime
