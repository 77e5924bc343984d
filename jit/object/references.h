// Where code reads its constants: what has to be filled in when they lie elsewhere than behind one another.
#pragma once

#include <cstddef>
#include <vector>

#include "jit/backend.h"

namespace pooljit::jit {

// The 4 bytes at `field` of the code hold the distance from `next`, where the following instruction begins,
// to `target` of the image.
struct ConstantReference {
  size_t field = 0, next = 0, target = 0;
};
std::vector<ConstantReference> constant_references(const CodeBlob& blob);

}  // namespace pooljit::jit
