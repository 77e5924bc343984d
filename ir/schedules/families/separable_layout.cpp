#include "ir/schedules/families/separable_layout.h"

#include <algorithm>

namespace pooljit::ir {

// Each is a row of a table.
constexpr int64_t most_bands = 256;

SeparableLayout::SeparableLayout(const PoolNest& nest, const SeparableSchedule& schedule, int held_bytes)
    : rows_dim_(nest.dims[nest.dims.size() - 2]),
      columns_dim_(nest.dims.back()),
      rolls_(schedule.scan == SeparableSchedule::Scan::rolling),
      position_bytes_(int64_t{schedule.lanes} * schedule.vectors_side_by_side * held_bytes),
      band_(largest_band()) {}

int64_t SeparableLayout::ends() const { return std::max(rows_dim_.kernel, columns_dim_.kernel); }

int64_t SeparableLayout::rows_of(int64_t band) const {
  return rolls_ ? rows_dim_.visible_input() : band + rows_dim_.kernel - 1;
}

int64_t SeparableLayout::largest_band() const {
  // Each of the three pieces begins a cache line.
  const int64_t room = (most_scratch_bytes - 3 * scratch_alignment) / position_bytes_;
  // What is larger by itself would overflow below.
  if (std::max({columns_dim_.output, ends(), rolls_ ? rows_dim_.visible_input() : 0}) > room) return 0;
  if (rolls_) return rows_of(0) * columns_dim_.output <= room ? rows_dim_.output : 0;
  const int64_t rows = (room - line() - ends()) / columns_dim_.output - (rows_dim_.kernel - 1);
  if (rows <= 0 || ceil_div(rows_dim_.output, rows) > most_bands) return 0;
  return ceil_div(rows_dim_.output, ceil_div(rows_dim_.output, rows));  // bands of about one size
}

}  // namespace pooljit::ir
