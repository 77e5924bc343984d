#include "ir/passes/shuffle_units.h"

#include <algorithm>

namespace pooljit::ir {

int Units::register_bytes() const { return std::max({lane_bytes, source_bytes(), result_bytes()}); }

bool Units::widen() {
  if (count % 2 != 0 || per_source % 2 != 0 || width == lane_bytes) return false;
  const auto value = [&](int i) { return at[static_cast<size_t>(i)]; };
  for (int i = 0; i < count; i += 2)
    if (value(i) % 2 != 0 || value(i + 1) != value(i) + 1) return false;
  for (int i = 0; i < count; i += 2) at[static_cast<size_t>(i / 2)] = static_cast<int16_t>(value(i) / 2);
  width *= 2;
  per_source /= 2;
  count /= 2;
  return true;
}

Units Units::narrowed(int to_width) const {
  const int parts = width / to_width;
  Units units{to_width, per_source * parts, count * parts, {}};
  for (int i = 0; i < units.count; ++i)
    units.at[static_cast<size_t>(i)] =
        static_cast<int16_t>(at[static_cast<size_t>(i / parts)] * parts + i % parts);
  return units;
}

bool Units::reads(int which) const {
  for (int i = 0; i < count; ++i)
    if (operand(i) == which) return true;
  return false;
}

Units units_of(const Type& source, std::span<const int64_t> lanes) {
  Units units{bytes(source.dtype), source.lanes, static_cast<int>(lanes.size()), {}};
  for (size_t i = 0; i < lanes.size(); ++i) units.at[i] = static_cast<int16_t>(lanes[i]);
  return units;
}

Units widest_units(const Type& source, std::span<const int64_t> lanes) {
  Units units = units_of(source, lanes);
  while (units.widen()) {
  }
  return units;
}

}  // namespace pooljit::ir
