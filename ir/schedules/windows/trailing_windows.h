// TrailingWindows: the windows of a row (stride 1) from vectors of its columns, taken one after the other.
// The windows of a vector end in its lanes, so they see it and what came before it: of each doubling of the
// taps, from one column to half a window and more, those vectors are held that the next doubling reaches back
// to. A shuffle and a join each; taps are taken twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/builder.h"
#include "ir/schedules/windows/scan.h"
#include "ir/windows.h"

namespace pooljit::ir {

class TrailingWindows {
 public:
  TrailingWindows(const NestDim& dim, int lanes);

  int64_t lanes() const { return lanes_; }
  // Vectors before the first whose windows are wanted; their windows begin so many positions before its own.
  int64_t vectors_ahead() const { return vectors_ahead_; }
  int64_t positions_ahead() const { return vectors_ahead_ * lanes_ - reach_; }
  // How many vectors are held from one to the next: before the first, of no taps.
  size_t held() const { return held_; }

  // What the windows come to that end in the lanes of `columns`.
  Value next(Builder& builder, Values& held, Value columns, const Join& join) const;

 private:
  int lanes_;
  int64_t reach_;  // from a window's first column to its last
  int64_t vectors_ahead_;
  std::vector<int64_t> shifts_;  // columns, per doubling
  size_t held_ = 0;
};

}  // namespace pooljit::ir
