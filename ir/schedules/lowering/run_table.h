// Run tables: the fields that loops read of a run, the outputs along a dimension that keep the same taps.
// For one size they are a constant table of the Program, for all sizes words of the size.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ir/nest.h"

namespace pooljit::ir {

// A row of a run table: int64 fields.
enum RunField {
  run_begin,
  run_end,
  run_full,
  run_taps,
  run_divisor,
  run_first,
  run_digit,
  run_first_tap = run_digit + 3,
  run_phase,
  run_phases,
  run_fields
};
inline constexpr int64_t run_row_bytes = run_fields * 8;

// Taps as digits of base sum_block, most significant first.
std::array<int64_t, 3> tap_digits(int64_t taps);

// is_usual: the windows of the run are those that straight-line code is for.
void append_run(std::vector<int64_t>& table, const PoolNest& nest, const Run& run, bool is_usual);

}  // namespace pooljit::ir
