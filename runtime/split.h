// Splits a kernel's tasks among threads: a grid of ranges, one range per task dimension and cell. Allocates
// nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "runtime/limits.h"

namespace pooljit::runtime {

struct TaskRange {
  int64_t begin = 0, count = 0;
};
using TaskRanges = std::array<TaskRange, max_task_dims>;

class Grid {
 public:
  // extents: how many tasks each dimension has, outermost first. Outer dimensions are cut first, so that a
  // thread walks memory in order; an inner one is cut only as far as the threads would not be kept equally
  // busy without.
  Grid(std::span<const int64_t> extents, int threads);

  int64_t cells() const { return cells_; }
  // Cells partition the tasks: each task is in exactly one cell. Ranges of one dimension differ in size by at
  // most 1.
  TaskRanges ranges(int64_t cell) const;

 private:
  int dims_ = 0;
  int64_t cells_ = 1;
  std::array<int64_t, max_task_dims> extents_{}, parts_{};
};

}  // namespace pooljit::runtime
