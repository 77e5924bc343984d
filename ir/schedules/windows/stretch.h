// Stretch: the positions of the input that neighbouring windows of stride 1 read, including those outside the
// image.
#pragma once

#include <cstdint>

#include "ir/windows.h"

namespace pooljit::ir {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Numbers of positions before the image, in it, and behind it.
struct Stretch {
  int64_t before = 0, inside = 0, behind = 0;
  int64_t first = 0;  // input position of the first one inside
};
// The stretch of the windows of outputs begin .. begin + outputs - 1.
Stretch stretch_of(const NestDim& dim, int64_t begin, int64_t outputs);

}  // namespace pooljit::ir
