#include "ir/schedules/windows/column_windows.h"

#include <algorithm>

#include "ir/check.h"
#include "ir/schedules/lanes/lane_gather.h"

namespace pooljit::ir {

ColumnWindows::ColumnWindows(int lanes, int64_t outputs, int64_t kernel, int64_t dilation, bool idempotent)
    : ColumnWindows(lanes, outputs, kernel, dilation, Split::one_by_one) {
  const auto consider = [&](Split split) {
    const ColumnWindows other(lanes, outputs, kernel, dilation, split);
    if (other.steps_ < steps_) *this = other;
  };
  consider(Split::side_by_side);
  if (idempotent) consider(Split::overlapping);
}

ColumnWindows::ColumnWindows(int lanes, int64_t outputs, int64_t kernel, int64_t dilation, Split split)
    : lanes_(lanes),
      kernel_(kernel),
      dilation_(dilation),
      split_(split),
      needed_(static_cast<size_t>(kernel + 1), -1) {
  POOLJIT_CHECK(kernel > 1, "windows of one column need no reduction");
  const auto needed = [&](int64_t length) -> int64_t& { return needed_[static_cast<size_t>(length)]; };
  needed(kernel) = outputs;
  // From the longest down: what a length needs of the two shorter ones that it is made of.
  for (int64_t length = kernel; length > 1; --length) {
    const int64_t positions = needed(length);
    if (positions < 0) continue;
    const TwoPartials of = split_in_two(length, split);
    needed(of.first) = std::max(needed(of.first), positions);
    needed(of.second) = std::max(needed(of.second), positions + of.second_begin * dilation);
    steps_ += vectors_at(length);
  }
}

int64_t ColumnWindows::vectors_at(int64_t length) const {
  return (needed_[static_cast<size_t>(length)] + lanes_ - 1) / lanes_;
}

int64_t ColumnWindows::vectors() const { return vectors_at(1); }

// `lanes` positions from there on. Behind the level's last vector is anything: lanes of another
// vector keep the shuffle a plain move.
Value ColumnWindows::from(Builder& builder, const std::vector<Value>& level, int64_t position) const {
  const auto first = static_cast<size_t>(position / lanes_);
  const int64_t shift = position % lanes_;
  if (shift == 0) return level[first];
  const Value second = first + 1 < level.size() ? level[first + 1] : level.front();
  return following_lanes(builder, level[first], second, shift, lanes_);
}

std::vector<Value> ColumnWindows::reduce(Builder& builder, const std::vector<Value>& columns,
                                         const Join& join) const {
  std::vector<std::vector<Value>> levels(static_cast<size_t>(kernel_ + 1));  // by length
  levels[1] = columns;
  for (int64_t length = 2; length <= kernel_; ++length) {
    if (needed_[static_cast<size_t>(length)] < 0) continue;
    const TwoPartials of = split_in_two(length, split_);
    const std::vector<Value>& first = levels[static_cast<size_t>(of.first)];
    const std::vector<Value>& second = levels[static_cast<size_t>(of.second)];
    std::vector<Value>& level = levels[static_cast<size_t>(length)];
    for (int64_t i = 0; i < vectors_at(length); ++i) {
      const Value later = from(builder, second, i * lanes_ + of.second_begin * dilation_);
      const Value earlier = from(builder, first, i * lanes_);
      level.push_back(join(earlier, later));
    }
  }
  return levels[static_cast<size_t>(kernel_)];
}

}  // namespace pooljit::ir
