// Draw: where random choices come from: a seed, or the bytes that libFuzzer mutates.
#pragma once

#include <cstdint>
#include <random>
#include <span>

namespace pooljit::fuzz {

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  // Numbers made of these bytes, which must outlive it; when they are used up, 0.
  explicit Draw(std::span<const uint8_t> bytes) : bytes_(bytes), is_seeded_(false) {}

  // 0 .. count-1. By remainders: a generator's numbers are the same everywhere, those of the library's
  // distributions need not be.
  uint64_t below(uint64_t count) {
    if (is_seeded_) return random_() % count;
    uint64_t number = 0;
    for (uint64_t room = 1; room < count && !bytes_.empty(); room <<= 8) {
      number = number << 8 | bytes_.front();
      bytes_ = bytes_.subspan(1);
    }
    return number % count;
  }
  // least .. most
  int64_t between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(below(static_cast<uint64_t>(most - least) + 1));
  }
  bool one_in(uint64_t count) { return below(count) == 0; }
  // True when nothing is left to decide anything by.
  bool is_used_up() const { return !is_seeded_ && bytes_.empty(); }

 private:
  std::mt19937 random_;
  std::span<const uint8_t> bytes_;
  bool is_seeded_ = true;
};

}  // namespace pooljit::fuzz
