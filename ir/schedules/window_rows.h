// What other families ask of window_rows.
#pragma once

#include "ir/isa.h"
#include "ir/nest.h"

namespace pooljit::ir {

// True if windows are so long and begin so far apart that neighbouring outputs would gather each tap from
// vectors of their own: window_rows then does less than families whose vectors are outputs.
bool are_windows_far_apart(const PoolNest& nest, Isa isa);

// True if every channel is one window.
bool is_one_window(const PoolNest& nest);

}  // namespace pooljit::ir
