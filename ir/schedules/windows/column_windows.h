// ColumnWindows: makes the windows of neighbouring outputs (stride 1) inside vectors of adjacent columns.
// Each step joins the windows with those of outputs further on, so the number of steps grows with the
// logarithm of the kernel. Position i of the result is the reduction of columns i + t * dilation for t = 0 ..
// kernel - 1.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/builder.h"
#include "ir/schedules/windows/scan.h"
#include "ir/schedules/windows/split.h"

namespace pooljit::ir {

class ColumnWindows {
 public:
  // outputs: how many windows are used; kernel: at least 2.
  ColumnWindows(int lanes, int64_t outputs, int64_t kernel, int64_t dilation, bool idempotent);

  // Vectors of `lanes` columns to load; column 0 is the first window's first. The last vector may stretch
  // past the last column of any window. These are not used.
  int64_t vectors() const;
  // Combinations, each with a shuffle at most.
  int64_t steps() const { return steps_; }

  // The outputs' windows, in as many vectors as they fill.
  std::vector<Value> reduce(Builder& builder, const std::vector<Value>& columns, const Join& join) const;

 private:
  ColumnWindows(int lanes, int64_t outputs, int64_t kernel, int64_t dilation, Split split);
  int64_t vectors_at(int64_t length) const;
  Value from(Builder& builder, const std::vector<Value>& level, int64_t position) const;

  int lanes_;
  int64_t kernel_, dilation_;
  Split split_;
  // For each length: how many positions have a reduction of so many taps that is used, from 0 on; -1: none.
  InlineList<int64_t, 36> needed_;
  int64_t steps_ = 0;
};

}  // namespace pooljit::ir
