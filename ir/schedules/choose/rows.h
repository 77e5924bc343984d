// Opinions on rows whose columns lie next to each other, shared by the offers of families whose vectors are
// rows.
#pragma once

#include "ir/schedules/layer.h"

namespace pooljit::ir {

// Maxima of such rows are best done by channels_first, as it fills the borders.
bool shares_filled_rows(const Layer& layer);

// True if bytes are summed in lanes of 16 bits.
bool sums_in_short_lanes(const Layer& layer);

// True if sums of pairs of bytes, in lanes of 32 bits, are best done four at a time: eight take shuffles
// across the halves of a vector.
bool sums_pairs_of_bytes(const Layer& layer);

// Rolling walks down a plane, few vectors wide. Where that is slow, planes are walked row by row: large ones,
// and those of images that no near cache holds, where windows have too few rows to make up for lines that
// come one by one.
bool is_walked_by_row(const Layer& layer);

// order=rolling: how many vectors of so many lanes are best done side by side, by default; 1: one by one.
int best_side_by_side(const Layer& layer, int lanes);

// Windows are so long and begin so far apart that neighbouring outputs would gather each tap from vectors of
// their own: window_rows then does less than families whose vectors are outputs.
bool are_windows_far_apart(const Layer& layer);

}  // namespace pooljit::ir
