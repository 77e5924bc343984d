// Choices for rows of adjacent columns, shared by the offers of families whose vectors are rows.
#pragma once

#include "ir/schedules/layer.h"

namespace pooljit::ir {

// channels_first does the maxima of such rows best, because it fills the borders.
bool shares_filled_rows(const Layer& layer);

// True if bytes are summed in lanes of 16 bits.
bool sums_in_short_lanes(const Layer& layer);

// True if sums of pairs of bytes, in lanes of 32 bits, are best done four lanes at a time: eight need
// shuffles across the halves of a vector.
bool sums_pairs_of_bytes(const Layer& layer);

// A rolling schedule walks down a plane in a column few vectors wide. True where that is slow and planes are
// better walked row by row: large planes, and planes of images beyond the near caches, where windows have too
// few rows to make up for cache lines that arrive one by one.
bool is_walked_by_row(const Layer& layer);

// Loads of a loop whose step is at most so many bytes are fetched early from the second cache. Those with
// larger steps, up to 6 KB, are not: up to twice the time on a Zen 5, straight-line code of windows and
// planes.
inline constexpr int64_t near_step_bytes = 1800;

// scan=rolling: how many vectors are done side by side by default, and of how many lanes; vectors = 1: one
// by one.
struct SideBySide {
  int lanes = 1, vectors = 1;
};
// lanes: the most that suit the layer.
SideBySide best_side_by_side(const Layer& layer, int lanes);

// Windows so wide that they were given to passes over scratch memory, although channels_first can hold in
// registers what they share: it takes 0.12 to 0.85 of the time, planes of 10 to 224 columns on a Zen 5.
bool rolls_wide_windows(const Layer& layer);

// Windows of many rows and few columns, which share their rows with the windows below. Rolling down the image
// takes 0.15 to 0.83 of the time of vectors over channels (10 to 672 channels on a Zen 5 and a Granite
// Rapids), and maxima of float32 by rows in groups more than that.
bool are_windows_tall(const Layer& layer);

// Windows are so long and begin so far apart that neighbouring outputs would gather each tap from vectors of
// their own. window_rows then does less work than families whose vectors are outputs.
bool are_windows_far_apart(const Layer& layer);

}  // namespace pooljit::ir
