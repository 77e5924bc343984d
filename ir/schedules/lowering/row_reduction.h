// RowReduction: makes the windows of a tile from contiguous vectors of its row: which vectors to load, and
// the steps that remain. The vectors may already be reduced over the outer dimensions.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/reductions/reducer.h"
#include "ir/schedules/lanes/lane_pairs.h"
#include "ir/schedules/lanes/placed_lanes.h"
#include "ir/schedules/lanes/row_tiles.h"
#include "ir/schedules/windows/column_windows.h"

namespace pooljit::ir {

// The style of shuffles for lanes of so many bytes. Bytes shuffle well only in regular patterns. For lanes of
// 2 bytes the vector that `cover` saves is worth more than its irregular shuffle costs.
PlacedLanes::Style shuffle_style(int shuffled_bytes);

class RowReduction {
 public:
  // lanes: of a vector; a tile with more lanes is several vectors side by side. taps: some tap of some lane.
  // overrun: vectors may stretch past the last column that is needed.
  RowReduction(const NestDim& dim, const Tile& tile, int lanes, const TileTaps& taps,
               const ReductionFacts& facts, Isa isa, bool overrun);

  // Vectors of `width` columns; starts() is the first column of each, counted from the tile's origin.
  const std::vector<int64_t>& starts() const { return placed_ ? placed_->starts() : starts_; }
  int width() const { return windows_ ? lanes_ : pairs_ ? pair_lanes_ : placed_->width(); }

  // True if the next tile's vectors are those of this tile, except the first.
  bool slides() const { return windows_.has_value() && stride_ == 1; }

  // The form of vectors that reduce() takes, and the reduction of two such vectors.
  Value column(Reducer& reducer, const State& state) const;
  Value join(Reducer& reducer, Value earlier, Value later) const;

  // If slides(): the windows in that form, in as many vectors as the tile has.
  std::vector<Value> windows(Builder& builder, Reducer& reducer, const std::vector<Value>& vectors) const;

  // present: x in the lanes whose windows have that tap.
  using Present = std::function<Value(size_t tap, Value x)>;
  State reduce(Builder& builder, Reducer& reducer, const std::vector<Value>& vectors,
               const Present& present) const;

 private:
  // Looks for lane pairs: bytes whose windows move by two columns. False: they need more than two vectors.
  bool find_pairs(const NestDim& dim, const Tile& tile, const TileTaps& taps, const ReductionFacts& facts,
                  Isa isa);
  // The windows of every second column, from vectors as starts() places them.
  Value every_second(Builder& builder, Reducer& reducer, std::vector<Value> vectors) const;

  int lanes_;
  int64_t stride_ = 1;  // of the outputs among the windows
  int64_t behind_ = 0;  // columns that the last vector lies before its place, to end where the image may
  std::vector<int64_t> starts_;
  std::optional<ColumnWindows> windows_;
  std::optional<LanePairs> pairs_;
  int pair_lanes_ = 0;  // of a vector of pairs
  std::optional<PlacedLanes> placed_;
};

}  // namespace pooljit::ir
