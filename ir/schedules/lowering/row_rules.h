// RowRules: what channels_first and interleaved can do with the rows of a nest under a schedule. The check
// of a schedule and its code both ask here.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "ir/reductions/reducer.h"
#include "ir/schedule.h"
#include "ir/schedules/lanes/row_tiles.h"
#include "ir/schedules/lowering/row_reduction.h"

namespace pooljit::ir {

// A schedule of channels_first or of interleaved.
struct RowSchedule : RowFields {
  RowSchedule(const Schedule& schedule);  // NOLINT(google-explicit-constructor): a view of it

  int lanes;
  Tail tail;
};

class RowRules {
 public:
  RowRules(const PoolNest& nest, const RowSchedule& schedule, Isa isa, const ReductionFacts& facts);

  // True if columns are adjacent in the output too.
  static bool columns_adjacent(const PoolNest& nest);

  // Lanes outside the image can be masked off.
  bool masks() const { return masks_; }
  int tile_lanes() const;  // of whole tiles
  const std::vector<TileLoop>& row() const { return row_; }
  // True if padding reaches so far beyond the windows that border outputs are more than straight-line code
  // takes one by one.
  static bool has_many_borders(const NestDim& row);
  // True if the straight-line code of a row is within its bounds.
  bool is_short() const;
  // True if borders are done in loops: kernels too long for straight-line code, and borders of any length if
  // lanes cannot be masked off.
  bool borders_from_table() const;
  // True if code for all sizes can use the schedule: rows one by one, sums of floats in the order of code for
  // one size.
  bool suits_any_size() const;
  // True for gradients in one lane, in code for all sizes: the run tables tell the windows of all outputs.
  bool takes_all_one_by_one() const;
  // Vector registers that remain beside a tile of so many vectors.
  size_t spare_vectors(size_t vectors) const;
  // Taps of the outer dimensions that straight-line code takes.
  int64_t unroll_limit() const;
  bool is_long() const { return is_long(dim_); }
  static bool is_long(const NestDim& row) { return row.kind == DimKind::pool && row.kernel > unroll_columns; }
  // Outputs of a row that vectors may cover. The others are done one by one.
  int64_t overlappable() const;

  // Where the taps of a tile are, and how its windows are made from vectors of the row. Each is found once.
  // The tile must have taps.
  const TileTaps& taps(const Tile& tile) const { return plan(tile).taps; }
  const RowReduction& reduction(const Tile& tile) const;
  // True if the registers hold the vectors of one row's tile; holds_as_loaded: with the elements as they are
  // loaded.
  bool holds(const Tile& tile) const;
  bool holds_as_loaded(const Tile& tile) const;
  bool holds_whole_tiles() const;
  // For rolling and for groups: windows below each other, neighbours of which may have rows in common.
  static bool may_share_rows(const PoolNest& nest, const ReductionFacts& facts);
  // scan=rolling: a tile also holds the vectors of a row, its masks and some constants. Vectors side by side
  // are one tile.
  bool can_roll() const;
  // ... rolls in the form whose reduction costs least.
  bool rolls_by_keys(const Tile& tile) const;
  // ... holds all its vectors' state in registers. Else the rows of the image go through scratch memory.
  bool rolls_at_once(const Tile& tile, const RowReduction& plan) const;
  // ... holds one vector's state in registers. Else it moves on by van Herk's algorithm.
  bool rolls_in_registers() const;
  // scan=rows_first: the rows of so many rows of outputs at once, which have some rows in common.
  static bool can_group(const PoolNest& nest, const ReductionFacts& facts, int rows_together);
  bool holds_group(const Tile& tile) const;
  bool holds_groups() const;

  static constexpr int64_t static_border = 8;  // tail=split: border outputs are straight-line code up to this
  static constexpr int64_t unroll_columns = 32;  // longer kernels loop, with borders from the run table
  static constexpr int64_t most_gathered = 64;   // gradients of wider windows have no code by rows

 private:
  static constexpr size_t most_tiles = 40, most_gradient_tiles = 64;  // in the code of a row
  // ... and steps in that code: a few instructions each.
  static constexpr int64_t most_steps = int64_t{1} << 14;

  using Holds = bool (RowRules::*)(const Tile& tile) const;
  bool whole_tiles(Holds holds) const;
  int64_t steps_in_code(bool asks) const;
  int64_t steps_of_stores(int lanes) const;
  bool takes_vectors(const Tile& tile) const;
  int64_t vectors_of(const Tile& tile) const;
  bool rolls_down() const;
  bool leaves_rows() const;
  int64_t rows_in_code() const;
  int64_t copies_of_a_row(bool rows_first) const;
  int64_t taps_of_a_group() const;
  // Taps that TileTaps lists. Backward passes include those that no window in the image has.
  int64_t listed_taps() const;
  bool has_short_rows() const;
  Interior uniform() const;
  int registers() const;
  const NestDim& rolled() const { return nest_.dims[nest_.dims.size() - 2]; }
  bool rolls_side_by_side() const;
  bool rolls_by_scratch(const Tile& tile, const RowReduction& plan) const;
  size_t rolling_vectors() const;
  size_t most_vectors() const;
  struct TilePlan {
    Tile tile;
    TileTaps taps;
    std::optional<RowReduction> reduction;  // once asked for
  };
  static void drop_beyond(TileTaps& taps, const Tile& tile);
  TilePlan& plan(const Tile& tile) const;

  const PoolNest& nest_;
  const RowSchedule schedule_;
  const NestDim& dim_;  // along the row
  Isa isa_;
  const ReductionFacts& facts_;
  bool masks_, fills_;
  std::vector<TileLoop> row_;
  mutable std::deque<TilePlan> plans_;
};

// True if a row has borders that tail=overlap covers although lanes cannot be masked off: `lanes` lanes are
// loaded from inside the row and moved to their place.
bool can_fill_borders(const PoolNest& nest, Isa isa, int lanes);

}  // namespace pooljit::ir
