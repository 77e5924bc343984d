// TrailingWindows: makes the windows of a row (stride 1) from vectors of its columns, one vector after the
// other. The windows of a vector end in its lanes, so they need the vector and what came before it. The taps
// are doubled step by step, from one column to at least half a window. Of each step, those vectors are held
// that the next step reaches back to. A step costs a shuffle and a join; taps are taken twice.
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
  // Vectors that are needed before the first one whose windows are wanted. The windows of that one begin so
  // many positions before it.
  int64_t vectors_ahead() const { return vectors_ahead_; }
  int64_t positions_ahead() const { return vectors_ahead_ * lanes_ - reach_; }
  // Vectors that are held from one vector to the next; at the beginning they have no taps.
  size_t held() const { return held_; }

  // The reductions of the windows that end in the lanes of `columns`.
  Value next(Builder& builder, Values& held, Value columns, const Join& join) const;

 private:
  int lanes_;
  int64_t reach_;  // from a window's first column to its last
  int64_t vectors_ahead_;
  std::vector<int64_t> shifts_;  // columns, per doubling
  size_t held_ = 0;
};

}  // namespace pooljit::ir
