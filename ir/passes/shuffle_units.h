// A shuffle's lane list as units: groups of `width` bytes that move as one. The same list can be seen with
// narrower units, and with wider ones where neighbours stay together.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "ir/program.h"

namespace pooljit::ir {

inline constexpr int lane_bytes = 16;  // what x86 calls a lane: a 128-bit part of a register
inline constexpr int most_units = 64;

// All counts are powers of two, and widths.
struct Units {
  int width = 1;       // bytes
  int per_source = 0;  // units of one operand
  int count = 0;       // units of the result
  std::array<int16_t, most_units> at{};

  // Operand 0 or 1, and the unit in it, of result unit i.
  int operand(int i) const { return at[static_cast<size_t>(i)] >= per_source ? 1 : 0; }
  int unit(int i) const { return at[static_cast<size_t>(i)] & (per_source - 1); }
  int per_lane() const { return lane_bytes / width; }
  int source_bytes() const { return per_source * width; }
  int result_bytes() const { return count * width; }
  // Bytes of the registers that the instruction works on.
  int register_bytes() const;

  bool widen();  // doubles the width; false (and unchanged) if neighbours part
  Units narrowed(int to_width) const;
  bool reads(int which) const;
};

Units units_of(const Type& source, std::span<const int64_t> lanes);
Units widest_units(const Type& source, std::span<const int64_t> lanes);

}  // namespace pooljit::ir
