// Pieces: neighbouring outputs of a dimension with overlapping windows, processed together, so that the
// partial results that they share fit into scratch memory.
#pragma once

#include <array>
#include <cstdint>

#include "ir/nest.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {

// Code for all sizes does pieces of at most one of these: the largest that fits scratch memory. Each has
// words of its own in every size.
inline constexpr std::array<int64_t, 4> piece_lengths = {16, 24, 32, 48};

// True for a dimension that may be done in pieces.
inline bool has_pieces(const NestDim& dim) {
  return dim.kind == DimKind::pool && dim.stride == 1 && dim.dilation == 1 && dim.kernel > 1;
}

// As few pieces as there can be of at most so many outputs, all of about one size: the outputs of one.
inline int64_t even_piece(int64_t outputs, int64_t most) {
  return ceil_div(outputs, ceil_div(outputs, most));
}

}  // namespace pooljit::ir
