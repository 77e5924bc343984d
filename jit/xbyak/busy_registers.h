// BusyRegisters: which registers of a class are taken at each point of a Program, as a row of bits each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/xbyak/liveness.h"

namespace pooljit::jit {

class BusyRegisters {
 public:
  // All are free.
  void reset(int points, int registers) {
    words_ = static_cast<size_t>(points) / bits + 1;
    busy_.assign(words_ * static_cast<size_t>(registers), 0);
  }

  void take(const Range& range, int reg) {
    const Words words = of(range, reg);
    if (words.first == words.last) {
      busy_[words.first] |= words.first_mask & words.last_mask;
      return;
    }
    busy_[words.first] |= words.first_mask;
    for (size_t word = words.first + 1; word < words.last; ++word) busy_[word] = all;
    busy_[words.last] |= words.last_mask;
  }
  void free(const Range& range, int reg) {
    const Words words = of(range, reg);
    if (words.first == words.last) {
      busy_[words.first] &= ~(words.first_mask & words.last_mask);
      return;
    }
    busy_[words.first] &= ~words.first_mask;
    for (size_t word = words.first + 1; word < words.last; ++word) busy_[word] = 0;
    busy_[words.last] &= ~words.last_mask;
  }
  bool is_free(const Range& range, int reg) const {
    const Words words = of(range, reg);
    if (words.first == words.last) return (busy_[words.first] & words.first_mask & words.last_mask) == 0;
    if ((busy_[words.first] & words.first_mask) != 0 || (busy_[words.last] & words.last_mask) != 0)
      return false;
    for (size_t word = words.first + 1; word < words.last; ++word)
      if (busy_[word] != 0) return false;
    return true;
  }

 private:
  static constexpr size_t bits = 64;
  static constexpr uint64_t all = ~uint64_t{0};

  // The words of a register's row that a range lies in, and the bits of the first and the last that do. Of
  // one word, those that are in both.
  struct Words {
    size_t first, last;
    uint64_t first_mask, last_mask;
  };
  Words of(const Range& range, int reg) const {
    const size_t row = static_cast<size_t>(reg) * words_;
    const auto begin = static_cast<size_t>(range.begin), last = static_cast<size_t>(range.end);
    return {row + begin / bits, row + last / bits, all << begin % bits, all >> (bits - 1 - last % bits)};
  }

  size_t words_ = 0;  // of a row
  std::vector<uint64_t> busy_;
};

}  // namespace pooljit::jit
