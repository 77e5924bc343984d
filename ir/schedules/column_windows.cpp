#include "ir/schedules/column_windows.h"

#include <algorithm>

#include "ir/check.h"

namespace pooljit::ir {

ColumnWindows::ColumnWindows(int lanes, int64_t kernel, bool idempotent)
    : ColumnWindows(lanes, kernel, Split::one_by_one) {
  const auto consider = [&](Split split) {
    const ColumnWindows other(lanes, kernel, split);
    if (other.steps_ < steps_) *this = other;
  };
  consider(Split::side_by_side);
  if (idempotent) consider(Split::overlapping);
}

ColumnWindows::ColumnWindows(int lanes, int64_t kernel, Split split)
    : lanes_(lanes), kernel_(kernel), split_(split), needed_{{1, 0}, {kernel, lanes}} {
  POOLJIT_CHECK(kernel > 1, "windows of one column need no reduction");
  // From the longest down: what a length needs of the two shorter ones that it is made of.
  for (auto at = needed_.rbegin(); at->first > 1; ++at) {
    const auto [length, positions] = *at;
    const Halves parts = halves(length, split);
    for (const auto& [part, begin] : {std::pair{parts.first, int64_t{0}}, {parts.second, parts.second_begin}})
      needed_[part] = std::max(needed_[part], positions + begin);
    steps_ += vectors_at(length);
  }
}

int64_t ColumnWindows::vectors_at(int64_t length) const { return (needed_.at(length) + lanes_ - 1) / lanes_; }

int64_t ColumnWindows::vectors() const { return vectors_at(1); }

// `lanes` positions from there on. What lies behind the level's last vector is anything: lanes of another
// vector keep the shuffle a plain move.
Value ColumnWindows::from(Builder& builder, const std::vector<Value>& level, int64_t position) const {
  const auto first = static_cast<size_t>(position / lanes_);
  const int64_t shift = position % lanes_;
  if (shift == 0) return level[first];
  const Value second = first + 1 < level.size() ? level[first + 1] : level.front();
  std::vector<int64_t> list;
  for (int64_t lane = 0; lane < lanes_; ++lane) list.push_back(shift + lane);
  return builder.shuffle(level[first], second, list);
}

Value ColumnWindows::reduce(Builder& builder, const std::vector<Value>& columns,
                            const Combine& combine) const {
  Levels levels{{1, columns}};
  for (const auto& [length, positions] : needed_) {
    if (length == 1) continue;
    const Halves parts = halves(length, split_);
    std::vector<Value> level;
    for (int64_t i = 0; i < vectors_at(length); ++i)
      level.push_back(combine(from(builder, levels.at(parts.first), i * lanes_),
                              from(builder, levels.at(parts.second), i * lanes_ + parts.second_begin)));
    levels[length] = std::move(level);
  }
  return levels.at(kernel_)[0];
}

}  // namespace pooljit::ir
