// A short list without the heap: parsing a spec must cost less than an allocation does.
#pragma once

#include <array>
#include <cstddef>

namespace pooljit::frontend {

template <typename T, size_t Capacity>
class FixedList {
 public:
  FixedList() = default;
  // Of a container with at most Capacity items.
  template <typename Container>
  explicit FixedList(const Container& items) {
    for (const T& item : items) push(item);
  }

  // False if the list is full.
  bool push(const T& item) {
    if (size_ == Capacity) return false;
    items_[size_++] = item;
    return true;
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return items_[i]; }
  const T& operator[](size_t i) const { return items_[i]; }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + size_; }

 private:
  std::array<T, Capacity> items_;
  size_t size_ = 0;
};

}  // namespace pooljit::frontend
