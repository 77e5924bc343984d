#include "ir/schedules/windows/rolling_window.h"

#include <algorithm>
#include <utility>

#include "ir/check.h"

namespace pooljit::ir {

RollingWindow::RollingWindow(int64_t kernel, int64_t stride, bool idempotent)
    : RollingWindow(kernel, stride, Split::one_by_one) {
  const auto consider = [&](Split split) {
    RollingWindow other(kernel, stride, split);
    if (other.combinations() < combinations()) *this = std::move(other);
  };
  consider(Split::side_by_side);
  if (idempotent) consider(Split::overlapping);
}

namespace {

std::pair<RollingWindow::Partial, RollingWindow::Partial> halves_of(RollingWindow::Partial whole,
                                                                    Split split) {
  const TwoPartials split_in = split_in_two(whole.length, split);
  return {{whole.begin, split_in.first}, {whole.begin + split_in.second_begin, split_in.second}};
}

}  // namespace

// Makes recipes.
class RollingWindow::Cook {
 public:
  explicit Cook(Split split) : split_(split) {}

  void given(Partial partial) { partials_.push_back(partial); }
  void want(Partial partial) { recipe.wanted.push_back(make(partial)); }

  Recipe recipe;

 private:
  uint32_t make(Partial partial) {
    const Partial* const known = std::find(partials_.begin(), partials_.end(), partial);
    if (known != partials_.end()) return static_cast<uint32_t>(known - partials_.begin());
    POOLJIT_CHECK(partial.length > 1, "a rolling window needs a column that it does not have");
    const auto [first, second] = halves_of(partial, split_);
    const uint32_t earlier = make(first), later = make(second);
    recipe.combined.push_back({earlier, later});
    partials_.push_back(partial);
    return static_cast<uint32_t>(partials_.size() - 1);
  }

  const Split split_;
  InlineList<Partial, 48> partials_;
};

RollingWindow::RollingWindow(int64_t kernel, int64_t stride, Split split)
    : kernel_(kernel), stride_(stride), split_(split) {
  POOLJIT_CHECK(kernel > stride, "windows that share no column do not roll");
  find_held();
  Cook cook(split);
  for (const Partial& partial : held_) cook.given(partial);
  for (int64_t i = 0; i < stride; ++i) cook.given({kernel - stride + i, 1});
  cook.want({0, kernel});
  for (const Partial& partial : held_) cook.want({partial.begin + stride, partial.length});
  advance_ = std::move(cook.recipe);
}

// A partial of the columns that are there already is held; so is what it becomes, output by output, until it
// has a new column and is made of two others.
void RollingWindow::find_held() {
  std::vector<bool> seen(static_cast<size_t>(kernel_ * kernel_), false);  // by begin and length
  InlineList<Partial, 16> open = {{0, kernel_}};
  while (!open.empty()) {
    const Partial partial = open.back();
    open.pop_back();
    const auto number = static_cast<size_t>(partial.begin * kernel_ + partial.length - 1);
    if (seen[number]) continue;
    seen[number] = true;
    const int64_t known = kernel_ - stride_;
    if (partial.begin + partial.length <= known) {
      held_.push_back(partial);
      open.push_back({partial.begin + stride_, partial.length});
    } else if (partial.length > 1) {
      const auto [first, second] = halves_of(partial, split_);
      open.push_back(first);
      open.push_back(second);
    }
  }
  std::sort(held_.begin(), held_.end());
}

namespace {

// The values of the recipe, behind the given ones.
template <typename Recipe>
InlineList<Value, 48> follow(const Recipe& recipe, InlineList<Value, 48> values, const Join& join) {
  for (const auto [first, second] : recipe.combined) {
    const Value earlier = values[first], later = values[second];
    values.push_back(earlier == no_value ? later : later == no_value ? earlier : join(earlier, later));
  }
  return values;
}

}  // namespace

RollingWindow::Held RollingWindow::begin(const std::vector<Value>& columns, const Join& join) const {
  Cook cook(split_);
  for (size_t i = 0; i < columns.size(); ++i) cook.given({static_cast<int64_t>(i), 1});
  for (const Partial& partial : held_) cook.want(partial);
  const InlineList<Value, 48> values = follow(cook.recipe, {columns.begin(), columns.end()}, join);
  Held held;
  for (const uint32_t partial : cook.recipe.wanted) held.push_back(values[partial]);
  return held;
}

Value RollingWindow::advance(Held& held, const std::vector<Value>& fresh, const Join& join) const {
  InlineList<Value, 48> values(held.begin(), held.end());
  values.insert(values.end(), fresh.begin(), fresh.end());
  values = follow(advance_, std::move(values), join);
  for (size_t i = 0; i < held.size(); ++i) held[i] = values[advance_.wanted[i + 1]];
  return values[advance_.wanted[0]];
}

}  // namespace pooljit::ir
