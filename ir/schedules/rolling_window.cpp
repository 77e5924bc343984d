#include "ir/schedules/rolling_window.h"

#include <algorithm>
#include <set>

#include "ir/check.h"

namespace pooljit::ir {

RollingWindow::RollingWindow(int64_t kernel, int64_t stride, bool idempotent)
    : RollingWindow(kernel, stride, Split::one_by_one) {
  const auto better = [](const RollingWindow& a, const RollingWindow& b) {
    return a.combinations_ < b.combinations_;
  };
  const RollingWindow side_by_side(kernel, stride, Split::side_by_side);
  if (better(side_by_side, *this)) *this = side_by_side;
  if (!idempotent) return;
  const RollingWindow overlapping(kernel, stride, Split::overlapping);
  if (better(overlapping, *this)) *this = overlapping;
}

RollingWindow::RollingWindow(int64_t kernel, int64_t stride, Split split)
    : kernel_(kernel), stride_(stride), split_(split) {
  POOLJIT_CHECK(kernel > stride, "windows that share no column do not roll");
  find_held();
  Held held(held_.size(), 0);
  const std::vector<Value> fresh(static_cast<size_t>(stride), 0);
  advance(held, fresh, [&](Value earlier, Value) {
    ++combinations_;
    return earlier;
  });
}

namespace {

std::pair<RollingWindow::Part, RollingWindow::Part> parts_of(RollingWindow::Part whole, Split split) {
  const Halves parts = halves(whole.length, split);
  return {{whole.begin, parts.first}, {whole.begin + parts.second_begin, parts.second}};
}

}  // namespace

// A part of the columns that are there already is held; so is what it becomes, output by output, until it has
// a new column and is made of two others.
void RollingWindow::find_held() {
  std::set<Part> seen;
  std::vector<Part> open = {{0, kernel_}};
  while (!open.empty()) {
    const Part part = open.back();
    open.pop_back();
    if (!seen.insert(part).second) continue;
    const int64_t known = kernel_ - stride_;
    if (part.begin + part.length <= known) {
      held_.push_back(part);
      open.push_back({part.begin + stride_, part.length});
    } else if (part.length > 1) {
      const auto [first, second] = parts_of(part, split_);
      open.insert(open.end(), {first, second});
    }
  }
  std::sort(held_.begin(), held_.end());
}

Value RollingWindow::make(Parts& parts, Part part, const Combine& combine) const {
  if (const auto known = parts.find(part); known != parts.end()) return known->second;
  POOLJIT_CHECK(part.length > 1, "a rolling window needs a column that it does not have");
  const auto [first, second] = parts_of(part, split_);
  const Value earlier = make(parts, first, combine), later = make(parts, second, combine);
  const Value both = earlier == no_value ? later : later == no_value ? earlier : combine(earlier, later);
  return parts[part] = both;
}

RollingWindow::Held RollingWindow::begin(const std::vector<Value>& columns, const Combine& combine) const {
  Parts parts;
  for (size_t i = 0; i < columns.size(); ++i) parts[{static_cast<int64_t>(i), 1}] = columns[i];
  Held held;
  for (const Part& part : held_) held.push_back(make(parts, part, combine));
  return held;
}

Value RollingWindow::advance(Held& held, const std::vector<Value>& fresh, const Combine& combine) const {
  Parts parts;
  for (size_t i = 0; i < held.size(); ++i) parts[held_[i]] = held[i];
  for (int64_t i = 0; i < stride_; ++i) parts[{kernel_ - stride_ + i, 1}] = fresh[static_cast<size_t>(i)];
  const Value window = make(parts, {0, kernel_}, combine);
  for (size_t i = 0; i < held.size(); ++i)
    held[i] = make(parts, {held_[i].begin + stride_, held_[i].length}, combine);
  return window;
}

}  // namespace pooljit::ir
