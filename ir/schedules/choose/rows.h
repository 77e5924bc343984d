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

// Loads of a loop that come again at most so many bytes on are brought in advance from the second cache,
// others, up to 6 KB, are not: up to twice the time on a Zen 5, straight-line code of windows and planes.
inline constexpr int64_t near_step_bytes = 1800;

// order=rolling: vectors of how many lanes are best done side by side by default, and how many; 1: one by
// one.
struct SideBySide {
  int lanes = 1, vectors = 1;
};
// lanes: the most that suit the layer.
SideBySide best_side_by_side(const Layer& layer, int lanes);

// Windows of so many columns that passes over scratch memory were thought to pay, of which channels_first
// holds what they share in registers after all: 0.12 to 0.85 of the time, planes of 10 to 224 columns on a
// Zen 5.
bool rolls_wide_windows(const Layer& layer);

// Maxima of many rows and few columns, which share their rows with the windows below: rolling down the image
// takes 0.15 to 0.7 of the time of vectors over channels, and of rows in groups, 16 to 384 channels of
// float32 on a Zen 5; sums, which do not roll so, up to twice the time.
bool are_tall_maxima(const Layer& layer);

// Windows are so long and begin so far apart that neighbouring outputs would gather each tap from vectors of
// their own: window_rows then does less than families whose vectors are outputs.
bool are_windows_far_apart(const Layer& layer);

}  // namespace pooljit::ir
