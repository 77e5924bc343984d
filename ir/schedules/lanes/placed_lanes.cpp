#include "ir/schedules/lanes/placed_lanes.h"

#include <algorithm>
#include <bit>

#include "ir/check.h"

namespace pooljit::ir {

PlacedLanes::PlacedLanes(std::vector<List> lists, Style style)
    : lists_(std::move(lists)), lanes_(static_cast<int>(lists_[0].size())) {
  for (const List& list : lists_) span_ = std::max(span_, *std::max_element(list.begin(), list.end()) + 1);
  POOLJIT_CHECK(span_ > 0, "placed lanes without a position");
  width_ = static_cast<int>(
      std::min<uint64_t>(static_cast<uint64_t>(lanes_), std::bit_floor(static_cast<uint64_t>(span_))));
  first_vector_.assign(lists_.size(), 0);
  const int64_t stride = style == Style::group ? common_stride() : 0;
  // Never more vectors than there are places.
  grouped_ = stride > 0 && width_ == lanes_ && stride <= lanes_ * std::ssize(lists_);
  grouped_ ? group(stride) : cover();
}

std::vector<PlacedLanes::List> PlacedLanes::strided(int lanes, int64_t stride,
                                                    const std::vector<int64_t>& offsets) {
  std::vector<List> lists;
  for (int64_t offset : offsets) {
    lists.emplace_back();
    for (int lane = 0; lane < lanes; ++lane) lists.back().push_back(lane * stride + offset);
  }
  return lists;
}

// The stride of a regular list; 0 if it is none.
int64_t PlacedLanes::stride_of(const List& list) const {
  if (lanes_ == 1) return 1;
  if (std::find(list.begin(), list.end(), anything) != list.end()) return 0;
  const int64_t stride = list[1] - list[0];
  for (size_t lane = 1; lane < list.size(); ++lane)
    if (list[lane] - list[lane - 1] != stride) return 0;
  return std::max<int64_t>(stride, 0);
}

int64_t PlacedLanes::common_stride() const {
  const int64_t stride = stride_of(lists_[0]);
  const bool all =
      std::all_of(lists_.begin(), lists_.end(), [&](const List& list) { return stride_of(list) == stride; });
  return all && std::is_sorted(lists_.begin(), lists_.end()) ? stride : 0;
}

// From left to right: a vector wherever a needed position is not loaded yet.
void PlacedLanes::cover() {
  constexpr int64_t none = std::numeric_limits<int64_t>::max();
  for (int64_t covered = 0;;) {
    int64_t next = none;
    for (const List& list : lists_)
      for (int64_t position : list)
        if (position >= covered) next = std::min(next, position);
    if (next == none) return;
    starts_.push_back(std::min(next, span_ - width_));
    covered = starts_.back() + width_;
  }
}

// From the last list down: `stride` vectors that end at its last element serve the lists of one stride.
void PlacedLanes::group(int64_t stride) {
  for (size_t last = lists_.size(); last > 0;) {
    const int64_t base = std::max<int64_t>(0, lists_[last - 1][0] - (stride - 1));
    const size_t first_vector = starts_.size();
    for (int64_t i = 0; i < stride; ++i) starts_.push_back(std::min(base + i * width_, span_ - width_));
    for (; last > 0 && lists_[last - 1][0] >= base; --last) first_vector_[last - 1] = first_vector;
  }
}

bool PlacedLanes::is_as_loaded() const {
  if (starts_.size() != 1 || lists_.size() != 1 || width_ != lanes_) return false;
  const List& list = lists_[0];
  for (size_t lane = 0; lane < list.size(); ++lane)
    if (list[lane] != anything && list[lane] != starts_[0] + static_cast<int64_t>(lane)) return false;
  return true;
}

LaneSource PlacedLanes::find(int64_t position, size_t not_before) const {
  if (position == anything) return {};
  for (size_t i = not_before; i < starts_.size(); ++i)
    if (starts_[i] <= position && position < starts_[i] + width_) return {i, position - starts_[i]};
  POOLJIT_CHECK(false, "a placed position is not covered by any vector");
}

PlacedLanes::Sources PlacedLanes::sources(size_t list) const {
  Sources found;
  for (int64_t position : lists_[list]) found.push_back(find(position, first_vector_[list]));
  return found;
}

// An earlier list whose lanes 1, 2, ... are the lanes 0, 1, ... of this one; `nowhere` if there is none.
size_t PlacedLanes::one_lane_before(size_t list) const {
  const List& wanted = lists_[list];
  if (wanted.back() == anything) return nowhere;
  for (size_t before = 0; before < list; ++before)
    if (std::equal(wanted.begin(), wanted.end() - 1, lists_[before].begin() + 1)) return before;
  return nowhere;
}

Value PlacedLanes::Extraction::next() {
  const size_t i = extracted_.size();
  const Sources wanted = lanes_.sources(i);
  size_t stretches = 1;
  for (size_t lane = 1; lane < wanted.size(); ++lane)
    stretches += wanted[lane].vector != wanted[lane - 1].vector;
  // The vector of one stride before, moved by a lane, has all but the last element.
  const bool may_move = stretches > 2 && !lanes_.grouped_ && lanes_.width_ == lanes_.lanes_;
  const size_t before = may_move ? lanes_.one_lane_before(i) : nowhere;
  if (before == nowhere) {
    extracted_.push_back(gather_lanes(builder_, vectors_, lanes_.width_, {wanted.data(), wanted.size()}));
  } else {
    LaneList list = lanes_from(1, lanes_.lanes_ - 1);
    list.push_back(lanes_.lanes_ + wanted.back().lane);
    extracted_.push_back(builder_.shuffle(extracted_[before], vectors_[wanted.back().vector], list));
  }
  return extracted_.back();
}

void PlacedLanes::extract(Builder& builder, const std::vector<Value>& vectors, const Take& take) const {
  Extraction extraction(*this, builder, vectors);
  for (size_t i = 0; i < lists_.size(); ++i) take(i, extraction.next());
}

}  // namespace pooljit::ir
