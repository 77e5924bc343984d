// InlineList: a list of plain values, the first `few` of which live inside it. A compile makes, copies and
// moves thousands of such lists: moving one copies its bytes, whatever it holds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace pooljit::ir {

template <typename T, uint32_t few>
class InlineList {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  InlineList() = default;
  explicit InlineList(size_t count, const T& value = T()) { resize(count, value); }
  InlineList(std::initializer_list<T> values) : InlineList(values.begin(), values.end()) {}
  template <std::input_iterator It>
  InlineList(It first, It last) {
    append(first, last);
  }
  InlineList(const InlineList& other) { copy(other); }
  InlineList(InlineList&& other) noexcept { take(other); }
  ~InlineList() { release(); }
  InlineList& operator=(const InlineList& other) {
    if (this != &other) *this = InlineList(other);
    return *this;
  }
  InlineList& operator=(InlineList&& other) noexcept {
    if (this == &other) return *this;
    release();
    take(other);
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return is_inside() ? inside() : outside(); }
  const T* data() const { return is_inside() ? inside() : outside(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void push_back(const T& value) {
    const T copied = value;  // it may be one of ours
    if (size_ == capacity_) grow(size_ + 1);
    data()[size_++] = copied;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void resize(size_t count, const T& value = T()) {
    const T copied = value;
    if (count > capacity_) grow(count);
    if (count > size_) std::fill(end(), data() + count, copied);
    size_ = static_cast<uint32_t>(count);
  }
  template <std::input_iterator It>
  void assign(It first, It last) {
    *this = InlineList(first, last);
  }
  // The values must not be ours.
  template <std::input_iterator It>
  void insert(const T* where, It first, It last) {
    const auto at = where - data();
    const auto behind = static_cast<std::ptrdiff_t>(size_);
    append(first, last);
    std::rotate(data() + at, data() + behind, end());
  }

  friend bool operator==(const InlineList& a, const InlineList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  bool is_inside() const { return capacity_ == few; }
  T* inside() { return reinterpret_cast<T*>(room_); }
  const T* inside() const { return reinterpret_cast<const T*>(room_); }
  T* outside() const {
    T* list;
    std::memcpy(&list, room_, pointer_bytes);
    return list;
  }

  template <typename It>
  void append(It first, It last) {
    const size_t count = size_ + static_cast<size_t>(std::distance(first, last));
    if (count > capacity_) grow(count);
    std::copy(first, last, end());
    size_ = static_cast<uint32_t>(count);
  }

  void grow(size_t least) {
    const size_t capacity = std::max(least, size_t{2} * capacity_);
    T* const list = std::allocator<T>().allocate(capacity);
    std::copy(begin(), end(), list);
    release();
    std::memcpy(room_, &list, pointer_bytes);
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void release() {
    if (!is_inside()) std::allocator<T>().deallocate(outside(), capacity_);
  }
  void copy(const InlineList& other) {
    if (other.is_inside()) {
      size_ = other.size_;
      std::memcpy(room_, other.room_, sizeof room_);
    } else {
      append(other.begin(), other.end());
    }
  }
  void take(InlineList& other) {
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, few);
    std::memcpy(room_, other.room_, sizeof room_);
  }

  static constexpr size_t pointer_bytes = sizeof(void*);

  uint32_t size_ = 0, capacity_ = few;  // capacity_ == few: the values are in room_, else their pointer is
  alignas(T) alignas(void*) std::byte room_[std::max(sizeof(T) * few, pointer_bytes)] = {};
};

}  // namespace pooljit::ir
