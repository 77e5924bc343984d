// ColumnPasses: how the windows of a row (stride 1) come from its columns in passes over scratch memory. A
// pass joins each position with one further on, and so doubles the taps that a position stands for; each
// window is then joined from a few positions. For windows that registers cannot hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/windows.h"

namespace pooljit::ir {

class ColumnPasses {
 public:
  // What a window is joined from: the positions of a line, from the window's first column on.
  struct Term {
    size_t line = 0;
    int64_t offset = 0;
  };
  // Positions i of `from` and i + offset come to position i of `to`, which may be the same line.
  struct Pass {
    size_t from = 0, to = 0;
    int64_t offset = 0;
    int64_t vectors = 0;
  };

  // positions: of windows, rounded up to whole vectors. idempotent: taps may be taken twice. doublings: so
  // many, of which the longest has no more taps than a window, and the first line is kept as it is; none
  // given: those of the fewest steps.
  ColumnPasses(const NestDim& dim, int64_t positions, int lanes, bool idempotent,
               std::optional<int> doublings = {});

  const std::vector<Pass>& passes() const { return passes_; }
  const std::vector<Term>& terms() const { return terms_; }
  // Lines in scratch memory. The first holds the columns, and what lies beside them.
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
