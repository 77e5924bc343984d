#include "ir/schedules/windows/trailing_windows.h"

#include <algorithm>

#include "ir/schedules/lanes/lane_gather.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {

TrailingWindows::TrailingWindows(const NestDim& dim, int lanes)
    : lanes_(lanes), reach_((dim.kernel - 1) * dim.dilation), vectors_ahead_(ceil_div(reach_, lanes)) {
  for (int64_t taps = 1; taps < dim.kernel;) {
    const int64_t more = std::min(taps, dim.kernel - taps);
    shifts_.push_back(more * dim.dilation);
    held_ += static_cast<size_t>(ceil_div(shifts_.back(), lanes));
    taps += more;
  }
}

// Held are, for each doubling, the vector just before and those before that.
Value TrailingWindows::next(Builder& builder, Values& held, Value columns, const Join& join) const {
  Value now = columns;
  size_t begin = 0;
  for (const int64_t shift : shifts_) {
    const auto whole = static_cast<size_t>(shift / lanes_);
    const int64_t rest = shift % lanes_;
    const auto before = [&](size_t vectors) { return vectors == 0 ? now : held[begin + vectors - 1]; };
    Value earlier = before(whole);
    if (rest != 0) earlier = following_lanes(builder, before(whole + 1), earlier, lanes_ - rest, lanes_);
    const size_t end = begin + whole + (rest != 0);
    std::rotate(held.begin() + begin, held.begin() + (end - 1), held.begin() + end);
    held[begin] = now;
    begin = end;
    now = join(earlier, now);
  }
  return now;
}

}  // namespace pooljit::ir
