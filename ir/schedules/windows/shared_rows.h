// Shared rows: rows of outputs that are done together. Input rows that several of their windows have in
// common are reduced once.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/builder.h"
#include "ir/schedules/windows/scan.h"
#include "ir/windows.h"

namespace pooljit::ir {

// True if the windows of `group` neighbouring rows have rows in common, and at least one whole group has
// whole windows.
bool can_share_rows(const NestDim& rows, int64_t group);

// The reductions of a group, one for each row of outputs. reduce(first, count) reduces input rows, counted
// from the first window's first. The rows that all windows share are extended downwards row by row; the rows
// above them are joined upwards, from the last row of the group to the first.
template <typename Reduce>
Values shared_rows(const NestDim& rows, int64_t group, const Reduce& reduce, const Join& join) {
  const int64_t last = group - 1, shared = rows.kernel - last * rows.stride;
  Value below = reduce(last * rows.stride, shared);
  std::vector<Value> above(static_cast<size_t>(last), no_value);
  for (int64_t row = last - 1; row >= 0; --row) {
    const Value own = reduce(row * rows.stride, rows.stride);
    above[static_cast<size_t>(row)] = row == last - 1 ? own : join(own, above[static_cast<size_t>(row + 1)]);
  }
  Values result;
  for (int64_t row = 0; row <= last; ++row) {
    result.push_back(row == last ? below : join(above[static_cast<size_t>(row)], below));
    if (row < last) below = join(below, reduce(rows.kernel + row * rows.stride, rows.stride));
  }
  return result;
}

}  // namespace pooljit::ir
