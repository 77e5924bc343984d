// Plane tiles: how the outputs of a plane are cut into vectors, row after row without regard to where rows
// end, and where the taps of each lane lie. The columns of an output row are reduced along the other
// dimension first; what that makes of a row of the input is a line, and line vectors are vectors of lines.
//
// Where windows move by one row, lines follow each other as the rows of the input do, and a line vector may
// have the end of one and the beginning of the next. Else each line has its own line vectors; but maxima of
// bytes that move by two columns are reduced in pairs (ir/schedules/lanes/lane_pairs.h), in line vectors of
// twice as many lanes as a tile has, with as many lines as fit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/nest.h"
#include "ir/schedule.h"
#include "ir/schedules/lanes/lane_pairs.h"
#include "ir/schedules/layer.h"

namespace pooljit::ir {

// Outputs begin .. begin + valid - 1 of a plane; its other lanes are not stored.
struct PlaneTile {
  int64_t begin = 0;
  int64_t valid = 0;
};

// So many elements of the input from `start` on: what a line vector's first tap reads. Some may lie outside.
struct LineVector {
  int64_t start = 0;
  int64_t lanes = 0;  // that anybody looks at
  bool operator==(const LineVector&) const = default;
};

// Maxima of bytes whose windows move by two columns, in vectors of two bytes for each lane of a tile.
struct PlanePairs {
  LanePairs lanes;
  int64_t lines = 1;  // in a vector
};
// Costs no more for large planes. None: the plane is not done so, with tiles of so many lanes.
std::optional<PlanePairs> plane_pairs(const Layer& layer, int64_t lanes);

class PlaneTiles {
 public:
  // A nest of two ordinary dimensions; of the schedule, lanes and tail count. The nest must outlive it.
  PlaneTiles(const Layer& layer, const Schedule& schedule);

  const std::vector<PlaneTile>& tiles() const { return tiles_; }

  struct Output {
    int64_t row = 0, column = 0;
  };
  std::vector<Output> outputs_of(const PlaneTile& tile) const;

  // Where the element of an output's line at a column of the input lies.
  struct Source {
    LineVector vector;
    int64_t lane = 0;
  };
  Source source(const PlaneTile& tile, const Output& output, int64_t position) const;
  // The same for what its whole window comes to, in words: where there are pairs.
  Source source(const PlaneTile& tile, const Output& output) const;
  const LanePairs* pairs() const { return pairs_ ? &pairs_->lanes : nullptr; }
  int line_lanes() const { return static_cast<int>(pairs_ ? 2 * lanes_ : lanes_); }
  // That a tile's taps lie in, at most.
  int64_t most_line_vectors() const { return line_vectors(columns_.kernel); }
  // Elements from tap to tap of a line.
  int64_t tap_step() const { return rows_.dilation * columns_.input; }

  // Joins and shuffles in the code of a plane, about.
  int64_t work() const;
  // How many tiles a store waits, so that the loads of the rows around the next ones are before it.
  // Allocators like to give input and output the same place within a page of 4 KiB, and then a core takes a
  // load for one of what was just stored there, and waits.
  size_t stores_behind() const;

  int64_t outputs() const { return rows_.output * columns_.output; }
  int64_t inputs() const { return rows_.input * columns_.input; }

 private:
  void cut(Tail tail);
  int64_t cost(int64_t tiles) const;
  int64_t rows_per_tile() const;             // that outputs of a tile are of, at most
  int64_t line_vectors(int64_t taps) const;  // that so many taps of each lane lie in, at most

  const NestDim &rows_, &columns_;
  const int64_t lanes_;
  const std::optional<PlanePairs> pairs_;
  bool whole_rows_ = false;  // each tile has some rows of outputs
  std::vector<PlaneTile> tiles_;
};

}  // namespace pooljit::ir
