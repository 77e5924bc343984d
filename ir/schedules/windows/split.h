// Split: how a reduction of neighbouring columns is made of two shorter ones, so that windows share them.
// If a column may be taken twice (a maximum), both parts are as long as the same power of two, and may
// overlap. Else the parts are powers of two side by side, or one column is added after the other.
#pragma once

#include <bit>
#include <cstdint>

namespace pooljit::ir {

enum class Split : uint8_t { one_by_one, side_by_side, overlapping };

// The first begins where the whole does.
struct TwoPartials {
  int64_t first = 1, second = 1;  // lengths
  int64_t second_begin = 1;       // from the whole's begin
};

// length: at least 2.
constexpr TwoPartials split_in_two(int64_t length, Split split) {
  if (split == Split::one_by_one) return {length - 1, 1, length - 1};
  const auto most = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(length)));
  const int64_t first = most == length ? most / 2 : most;
  const int64_t second = split == Split::overlapping ? first : length - first;
  return {first, second, length - second};
}

}  // namespace pooljit::ir
