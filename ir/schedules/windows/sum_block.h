// Sum blocks. The rounding error of a sum grows with the number of additions into one accumulator. So long
// windows are summed in blocks of `sum_block` taps, those in blocks of blocks, and so on.
#pragma once

#include "ir/windows.h"

namespace pooljit::ir {

inline constexpr int64_t sum_block = 128;

// True if the taps of the dimension are summed in blocks.
inline bool is_long(const NestDim& dim) { return dim.most_taps() > 2 * sum_block; }

}  // namespace pooljit::ir
