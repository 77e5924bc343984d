// ColumnPasses: makes the windows of a row (stride 1) from its columns in passes over scratch memory, for
// windows that registers cannot hold. A pass joins each position with one further on, which doubles the taps
// that a position stands for. Each window is then joined from a few positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/windows.h"

namespace pooljit::ir {

class ColumnPasses {
 public:
  // A part of a window: a line, and the position in it, counted from the window's first column.
  struct Term {
    size_t line = 0;
    int64_t offset = 0;
  };
  // Joins positions i and i + offset of `from` into position i of `to`, which may be the same line.
  struct Pass {
    size_t from = 0, to = 0;
    int64_t offset = 0;
    int64_t vectors = 0;
  };

  // positions: number of windows, rounded up to whole vectors. idempotent: taps may be taken twice.
  // doublings: this number of them, the longest with no more taps than a window, and the first line is kept
  // as it is. No number: the one with the fewest steps.
  ColumnPasses(const NestDim& dim, int64_t positions, int lanes, bool idempotent,
               std::optional<int> doublings = {});

  const std::vector<Pass>& passes() const { return passes_; }
  const std::vector<Term>& terms() const { return terms_; }
  // Lines in scratch memory. The first holds the columns and the padding beside them.
  size_t lines() const { return lines_; }
  // Positions of a line that are read, rounded up to whole vectors.
  int64_t positions() const { return positions_; }

 private:
  std::vector<Pass> passes_;
  std::vector<Term> terms_;
  size_t lines_ = 1;
  int64_t positions_ = 0;
};

}  // namespace pooljit::ir
