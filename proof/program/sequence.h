// Sequence: a list that only grows, at its end. One that was made longer and what it was made of share their
// memory, so that all beginnings of a list take no more than the list. Not for several threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace pooljit::ir {

template <typename T>
class Sequence {
 public:
  Sequence() = default;
  Sequence(std::vector<T> items)
      : items_(std::make_shared<std::vector<T>>(std::move(items))), size_(items_->size()) {}
  Sequence(std::initializer_list<T> items) : Sequence(std::vector<T>(items)) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Valid until this or what shares its memory is made longer.
  const T* begin() const { return items_ ? items_->data() : nullptr; }
  const T* end() const { return begin() + size_; }
  const T& front() const { return *begin(); }
  const T& operator[](size_t number) const { return begin()[number]; }
  std::vector<T> copy() const { return {begin(), end()}; }
  bool operator==(const Sequence& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

  // This and then `after`. Memory is shared unless something else was put behind this one before.
  Sequence followed_by(const Sequence& after) const {
    if (after.empty()) return *this;
    if (empty()) return after;
    Sequence longer = items_->size() == size_ ? *this : Sequence(copy());
    for (size_t i = 0; i < after.size(); ++i) longer.items_->push_back(after[i]);  // `after` may share them
    longer.size_ += after.size();
    return longer;
  }

 private:
  std::shared_ptr<std::vector<T>> items_;
  size_t size_ = 0;  // of items_, those that are this list's
};

}  // namespace pooljit::ir
