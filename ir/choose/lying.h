// Lying: the kinds of memory layout that tables made from samples distinguish.
#pragma once

#include "ir/nest.h"

namespace pooljit::ir {

// Whether neighbours in memory are columns of one row or channels of one pixel.
enum class Lying { planes, pixels };

inline Lying lying_of(const View& view) {
  return view.channel_block > 1 || view.channel_stride < view.strides.back() ? Lying::pixels : Lying::planes;
}

}  // namespace pooljit::ir
