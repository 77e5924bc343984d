#include "ir/schedules/lanes/lane_fold.h"

#include <algorithm>

#include "ir/lane_list.h"

namespace pooljit::ir {
namespace {

// Shuffles within parts of so many bytes take one instruction and no constant.
constexpr int part_bytes = 16;

}  // namespace

void LaneFold::add(Value vector) {
  folded_.push_back({vector, 1});
  while (folded_.size() > 1 && folded_.end()[-2].vectors == folded_.back().vectors) {
    const Folded last = folded_.back();
    folded_.pop_back();
    folded_.back() = merge(folded_.back(), last);
  }
}

LaneFold::Folded LaneFold::merge(const Folded& a, const Folded& b) {
  const int lanes = b_.type(a.value).lanes, vectors = a.vectors, parts = lanes / vectors;
  if (parts == 1) return {b_.shuffle(a.value, b.value, lanes_from(0, 2 * lanes)), 2 * vectors};
  // Parts next to each other, of which one list takes the first half and the other the second.
  const int near = std::max(part_bytes / bytes(b_.type(a.value).dtype) / vectors, 1);
  const int group = near == 1 ? parts : std::min(near, parts);
  const auto half = [&](int which) {
    LaneList list;
    for (int part = 0; part < parts; ++part) {
      if (part % group / (group / 2) != which) continue;
      for (const int operand : {0, lanes})
        for (int vector = 0; vector < vectors; ++vector) list.push_back(operand + part * vectors + vector);
    }
    return b_.shuffle(a.value, b.value, list);
  };
  const Value first = half(0);
  const Value second = half(1);
  return {join_(first, second), 2 * vectors};
}

Value LaneFold::finish() {
  while (folded_.size() > 1) {
    Folded& last = folded_.back();
    if (last.vectors < folded_.end()[-2].vectors) {
      last = merge(last, last);
      continue;
    }
    const Folded other = last;
    folded_.pop_back();
    folded_.back() = merge(folded_.back(), other);
  }
  const int vectors = folded_[0].vectors;
  Value value = folded_[0].value;
  for (int lanes = b_.type(value).lanes; lanes > vectors; lanes /= 2) {
    const Value first = b_.shuffle(value, no_value, lanes_from(0, lanes / 2));
    const Value second = b_.shuffle(value, no_value, lanes_from(lanes / 2, lanes / 2));
    value = join_(first, second);
  }
  return value;
}

}  // namespace pooljit::ir
