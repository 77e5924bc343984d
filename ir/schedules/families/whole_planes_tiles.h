// Plane tiles: how the outputs of a plane are cut into vectors, row after row and across the ends of rows,
// and where the taps of each lane are. The outputs of a row are reduced over the rows of their windows first.
// Line: a row of the input after this reduction. Line vector: a vector of neighbouring columns of a line.
//
// If windows move by one row, lines follow each other as the rows of the input do, and a line vector may hold
// the end of one line and the beginning of the next. Else each line has its own line vectors, with one
// exception: maxima of bytes that move by two columns are reduced in pairs (ir/schedules/lanes/lane_pairs.h).
// Their line vectors have twice as many lanes as a tile, with as many lines as fit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/nest.h"
#include "ir/schedule.h"
#include "ir/schedules/lanes/lane_pairs.h"
#include "ir/schedules/layer.h"

namespace pooljit::ir {

// Outputs begin .. begin + valid - 1 of a plane. The other lanes are not stored.
struct PlaneTile {
  int64_t begin = 0;
  int64_t valid = 0;
};

// The elements of the input that a line vector's first tap reads: `lanes` of them from `start` on. Some may
// be outside the image.
struct LineVector {
  int64_t start = 0;
  int64_t lanes = 0;  // that are used
  bool operator==(const LineVector&) const = default;
};

// Maxima of bytes whose windows move by two columns, in vectors with two bytes for each lane of a tile.
struct PlanePairs {
  LanePairs lanes;
  int64_t lines = 1;  // in a vector
};
// The pairs of a plane for tiles of `lanes` lanes; none if the plane is not done in pairs. Takes no longer
// for large planes.
std::optional<PlanePairs> plane_pairs(const Layer& layer, int64_t lanes);

class PlaneTiles {
 public:
  // For a nest of two ordinary dimensions, which must outlive this object. Only lanes and tail of the
  // schedule count.
  PlaneTiles(const Layer& layer, const Schedule& schedule);

  const std::vector<PlaneTile>& tiles() const { return tiles_; }

  struct Output {
    int64_t row = 0, column = 0;
  };
  std::vector<Output> outputs_of(const PlaneTile& tile) const;

  // Where to find an output's line at a column of the input.
  struct Source {
    LineVector vector;
    int64_t lane = 0;
  };
  Source source(const PlaneTile& tile, const Output& output, int64_t position) const;
  // If there are pairs: where to find an output's whole window, in words.
  Source source(const PlaneTile& tile, const Output& output) const;
  const LanePairs* pairs() const { return pairs_ ? &pairs_->lanes : nullptr; }
  int line_lanes() const { return static_cast<int>(pairs_ ? 2 * lanes_ : lanes_); }
  // The most line vectors that a tile's taps are in.
  int64_t most_line_vectors() const { return line_vectors(columns_.kernel); }
  // Elements from tap to tap of a line.
  int64_t tap_step() const { return rows_.dilation * columns_.input; }

  // About how many joins and shuffles the code of a plane has.
  int64_t work() const;
  // How many tiles a store is delayed, so that the loads of the rows around the next tiles come before it.
  // Allocators tend to give input and output the same offset in a page of 4 KiB. A core then takes such a
  // load for one of what was just stored, and waits.
  size_t stores_behind() const;

  int64_t outputs() const { return rows_.output * columns_.output; }
  int64_t inputs() const { return rows_.input * columns_.input; }

 private:
  void cut(Tail tail);
  int64_t cost(int64_t tiles) const;
  int64_t rows_per_tile() const;             // most rows that outputs of a tile belong to
  int64_t line_vectors(int64_t taps) const;  // most that so many taps of each lane are in

  const NestDim &rows_, &columns_;
  const int64_t lanes_;
  const std::optional<PlanePairs> pairs_;
  bool whole_rows_ = false;  // each tile has some rows of outputs
  std::vector<PlaneTile> tiles_;
};

}  // namespace pooljit::ir
