#include "ir/schedules/strided_lanes.h"

#include <algorithm>

#include "ir/check.h"

namespace pooljit::ir {

StridedLanes::StridedLanes(int lanes, int64_t stride, std::vector<int64_t> offsets, Style style)
    : lanes_(lanes), stride_(stride), offsets_(std::move(offsets)), style_(style) {
  span_ = (lanes_ - 1) * stride_ + *std::max_element(offsets_.begin(), offsets_.end()) + 1;
  first_vector_.assign(offsets_.size(), 0);
  style_ == Style::cover ? cover() : group();
}

// From left to right: a vector wherever a needed position is not loaded yet.
void StridedLanes::cover() {
  std::vector<int64_t> needed;
  for (int64_t offset : offsets_)
    for (int lane = 0; lane < lanes_; ++lane) needed.push_back(lane * stride_ + offset);
  std::sort(needed.begin(), needed.end());
  for (int64_t position : needed)
    if (starts_.empty() || position >= starts_.back() + lanes_)
      starts_.push_back(std::min(position, span_ - lanes_));
}

// From the last offset down: `stride` vectors that end at its last element serve the offsets of one stride.
void StridedLanes::group() {
  for (size_t last = offsets_.size(); last > 0;) {
    const int64_t base = std::max<int64_t>(0, offsets_[last - 1] - (stride_ - 1));
    const size_t first_vector = starts_.size();
    for (int64_t i = 0; i < stride_; ++i) starts_.push_back(std::min(base + i * lanes_, span_ - lanes_));
    for (; last > 0 && offsets_[last - 1] >= base; --last) first_vector_[last - 1] = first_vector;
  }
}

StridedLanes::Source StridedLanes::find(int64_t position, int64_t not_before) const {
  for (size_t i = static_cast<size_t>(not_before); i < starts_.size(); ++i)
    if (starts_[i] <= position && position < starts_[i] + lanes_) return {i, position - starts_[i]};
  POOLJIT_CHECK(false, "a strided position is not covered by any vector");
}

std::vector<StridedLanes::Source> StridedLanes::sources(int64_t offset) const {
  const auto which = std::find(offsets_.begin(), offsets_.end(), offset) - offsets_.begin();
  std::vector<Source> found;
  for (int lane = 0; lane < lanes_; ++lane)
    found.push_back(
        find(lane * stride_ + offset, static_cast<int64_t>(first_vector_[static_cast<size_t>(which)])));
  return found;
}

// One shuffle for each vector after the first; lanes that are not placed yet keep their place.
Value StridedLanes::gather(Builder& builder, const std::vector<Value>& vectors,
                           const std::vector<Source>& wanted) const {
  std::vector<size_t> used;
  for (const Source& source : wanted)
    if (std::find(used.begin(), used.end(), source.vector) == used.end()) used.push_back(source.vector);
  const auto lanes_from = [&](const std::vector<size_t>& sources, bool placed) {
    std::vector<int64_t> list;
    for (size_t lane = 0; lane < wanted.size(); ++lane) {
      const auto at = std::find(sources.begin(), sources.end(), wanted[lane].vector) - sources.begin();
      const bool here = static_cast<size_t>(at) < sources.size();
      const int64_t side = placed ? lanes_ : at * lanes_;
      list.push_back(here ? side + wanted[lane].lane : static_cast<int64_t>(lane));
    }
    return list;
  };
  if (used.size() == 1) {
    const std::vector<int64_t> list = lanes_from(used, false);
    const bool identity =
        std::is_sorted(list.begin(), list.end()) && list.front() == 0 && list.back() == lanes_ - 1;
    return identity ? vectors[used[0]] : builder.shuffle(vectors[used[0]], no_value, list);
  }
  Value result = builder.shuffle(vectors[used[0]], vectors[used[1]], lanes_from({used[0], used[1]}, false));
  for (size_t i = 2; i < used.size(); ++i)
    result = builder.shuffle(result, vectors[used[i]], lanes_from({used[i]}, true));
  return result;
}

void StridedLanes::extract(Builder& builder, const std::vector<Value>& vectors, const Take& take) const {
  std::vector<Value> extracted;
  for (size_t i = 0; i < offsets_.size(); ++i) {
    const std::vector<Source> wanted = sources(offsets_[i]);
    std::vector<size_t> used;
    for (const Source& source : wanted) used.push_back(source.vector);
    used.erase(std::unique(used.begin(), used.end()), used.end());
    // The vector of one stride before, moved by a lane, has all but the last element.
    const auto end = offsets_.begin() + static_cast<std::ptrdiff_t>(i);
    const auto before = std::find(offsets_.begin(), end, offsets_[i] - stride_);
    if (style_ == Style::cover && used.size() > 2 && before != end) {
      std::vector<int64_t> list;
      for (int lane = 1; lane < lanes_; ++lane) list.push_back(lane);
      list.push_back(lanes_ + wanted.back().lane);
      const Value previous = extracted[static_cast<size_t>(before - offsets_.begin())];
      extracted.push_back(builder.shuffle(previous, vectors[wanted.back().vector], list));
    } else {
      extracted.push_back(gather(builder, vectors, wanted));
    }
    take(i, extracted.back());
  }
}

}  // namespace pooljit::ir
