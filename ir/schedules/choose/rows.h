// Rows of adjacent columns, shared by the offers of families whose vectors are rows.
#pragma once

#include "ir/schedules/layer.h"

namespace pooljit::ir {

// scan=rolling: how many vectors are done side by side by default, and of how many lanes; vectors = 1: one
// by one.
struct SideBySide {
  int lanes = 1, vectors = 1;
};
// lanes: the most that suit the layer.
SideBySide best_side_by_side(const Layer& layer, int lanes);

}  // namespace pooljit::ir
