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
    visit(range, reg, [&](size_t word, uint64_t mask) { busy_[word] |= mask; });
  }
  void free(const Range& range, int reg) {
    visit(range, reg, [&](size_t word, uint64_t mask) { busy_[word] &= ~mask; });
  }
  bool is_free(const Range& range, int reg) const {
    uint64_t taken = 0;
    visit(range, reg, [&](size_t word, uint64_t mask) { taken |= busy_[word] & mask; });
    return taken == 0;
  }

 private:
  static constexpr size_t bits = 64;

  // The words of the register's row that the range lies in, and which of their bits.
  template <typename Use>
  void visit(const Range& range, int reg, const Use& use) const {
    const size_t row = static_cast<size_t>(reg) * words_;
    const auto begin = static_cast<size_t>(range.begin), last = static_cast<size_t>(range.end);
    for (size_t word = begin / bits; word <= last / bits; ++word) {
      uint64_t mask = ~uint64_t{0};
      if (word == begin / bits) mask &= ~uint64_t{0} << begin % bits;
      if (word == last / bits) mask &= ~uint64_t{0} >> (bits - 1 - last % bits);
      use(row + word, mask);
    }
  }

  size_t words_ = 0;  // of a row
  std::vector<uint64_t> busy_;
};

}  // namespace pooljit::jit
