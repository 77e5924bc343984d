// What the chooser asks of window_rows.
#pragma once

#include "ir/schedules/layer.h"

namespace pooljit::ir {

// True if every channel is one window.
bool is_one_window(const PoolNest& nest);

// Taps of a window's row and outputs of a row, where the innermost dimensions are one as far as one window is
// all of them and they lie without gaps.
int64_t joined_row_taps(const PoolNest& nest);
int64_t joined_row_outputs(const PoolNest& nest);

// Windows that may be done together, at most.
int64_t most_windows_together(const Layer& layer);

// Whether the family can do the layer in vectors of so many lanes at all.
bool can_take_window_rows(const Layer& layer, int lanes);

}  // namespace pooljit::ir
